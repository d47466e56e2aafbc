"""The kinds and objects of extension API servers, for controllers (see gateway.endpoints.foreign.ForeignObjects)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence

from gateway.aggregation.extension_discovery import ExtensionDiscovery
from gateway.aggregation.held_objects import HeldObjects
from gateway.aggregation.objects import ObjectClient
from gateway.aggregation.services import ApiServices
from gateway.endpoints.foreign import ForeignFollower, ForeignKind
from gateway.http.user import User
from gateway.task_group import TaskGroup

MOST = 500  # the most followed kinds: a limit, because extension API servers decide how many there are
_FOLLOWABLE = frozenset({"delete", "list", "watch"})


class FollowedObjects:
    """The kinds in discovery, and while `run` runs, the objects of the followed kinds.

    A kind is followed if it can be listed, watched and deleted, and a follower wants it. At most MOST are followed.
    """

    def __init__(self, services: ApiServices, discovered: ExtensionDiscovery, objects: ObjectClient) -> None:
        self._services, self._discovered, self._objects = services, discovered, objects
        self._kinds: dict[tuple[str, str], ForeignKind] = {}  # by apiVersion and kind
        self._followed: dict[bytes, ForeignKind] = {}  # by the key prefix RESOURCE.GROUP/
        self._held: dict[bytes, HeldObjects] = {}
        self._listeners: list[Callable[[], None]] = []
        self.metadata, self.patch, self.delete = objects.metadata, objects.patch, objects.delete
        discovered.on_change(self._discover)

    def kind(self, api_version: str, kind: str) -> ForeignKind | None:
        """The kind with this apiVersion and name; None if no extension API server has it."""
        return self._kinds.get((api_version, kind))

    def followed(self) -> Collection[ForeignKind]:
        """The kinds that can be listed, watched and deleted, each in one version."""
        return self._followed.values()

    @property
    def complete(self) -> bool:
        """Whether every followed kind has been listed at least once."""
        return all((held := self._held.get(prefix)) is not None and held.loaded for prefix in self._followed)

    def on_change(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Calls a function whenever the kinds change, until the returned function is called."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def holds(self, kind: ForeignKind, namespace: str, name: str, uid: str) -> bool:
        """Whether an object exists by the last list or watch event, and is not being deleted."""
        held = self._held.get(kind.prefix)
        return held is not None and held.has(namespace, name, uid)

    async def places(self, kind: ForeignKind, names: Collection[str], uids: Collection[str]) -> dict[str, str]:
        """Maps uid to namespace, for the known objects whose name is in `names` and whose uid is in `uids`."""
        held = self._held.get(kind.prefix)
        return {} if held is None else await held.places(names, uids)

    def count(self, group: str, resource: str, namespace: str) -> int | None:
        """The number of a resource's objects in a namespace, for quotas; None if it is unknown."""
        held = self._held.get(f"{resource}.{group}/".encode())
        return held.count(namespace) if held is not None and held.loaded else None

    async def run(self, followers: Sequence[ForeignFollower], user: User) -> None:
        """Lists and watches the kinds that one of `followers` wants, as `user`, until cancelled."""
        changed = asyncio.Event()
        end = self.on_change(changed.set)
        running: dict[bytes, tuple[ForeignKind, asyncio.Task[None]]] = {}
        try:
            async with TaskGroup() as group:
                while True:
                    changed.clear()
                    for prefix, (kind, task) in list(running.items()):
                        if self._followed.get(prefix) != kind:
                            task.cancel()
                            del running[prefix]
                            self._left(prefix, followers)
                    for prefix, kind in self._followed.items():
                        if prefix not in running:
                            running[prefix] = kind, group.create_task(self._follow(kind, followers, user))
                    await changed.wait()
        finally:
            end()
            self._held.clear()

    async def _follow(self, kind: ForeignKind, followers: Sequence[ForeignFollower], user: User) -> None:
        from gateway.aggregation.reflection import Reflection

        following = [each for each in followers if each.follows(kind.prefix)]
        if following:
            held = self._held.setdefault(kind.prefix, HeldObjects(kind))
            held.follow_as(kind)
            await Reflection(self._objects, held, following, user).run()

    def _left(self, prefix: bytes, followers: Sequence[ForeignFollower]) -> None:
        """A kind is not followed any more. Unless another version of it is followed, drops its objects."""
        if prefix not in self._followed:
            self._held.pop(prefix, None)
            for each in followers:
                if each.follows(prefix):
                    each.begin(prefix, set())

    def _discover(self) -> None:
        kinds, followed = dict[tuple[str, str], ForeignKind](), dict[bytes, ForeignKind]()
        for service in self._services.preferred():
            for kind in self._discovered.kinds(service):
                kinds[kind.api_version, kind.kind] = kind
                if kind.verbs >= _FOLLOWABLE and len(followed) < MOST:
                    followed.setdefault(kind.prefix, kind)
        if (kinds, followed) != (self._kinds, self._followed):
            self._kinds, self._followed = kinds, followed
            for listener in list(self._listeners):
                listener()
