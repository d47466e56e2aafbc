"""Interfaces to objects of extension API servers, for controllers: namespace deletion, garbage collection, quotas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from gateway.http.user import User
from gateway.jsontypes import JsonObject
from storage.entry import Change


@dataclass(slots=True)
class Left:
    """The objects of a namespace that remain at extension API servers, after these were asked to delete all."""

    resources: Counter[str] = field(default_factory=Counter)  # number of objects, by "things.example.com"
    finalizers: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)


class Foreign(Protocol):
    """The extension API servers, for the namespace controller."""

    def undiscovered(self) -> list[str]:
        """The group versions ("group/version") whose servers do not answer discovery, sorted."""
        ...

    async def empty(self, namespace: str, user: User) -> Left:
        """Deletes all objects of a namespace at extension API servers, as `user`; returns what is left."""
        ...


class ForeignError(Exception):
    """An extension API server could not be reached, or refused the request; the message says why."""


@dataclass(frozen=True, slots=True)
class ForeignKind:
    """A kind of an extension API server, in one version."""

    group: str
    version: str
    kind: str
    resource: str
    namespaced: bool
    verbs: frozenset[str]

    @property
    def api_version(self) -> str:
        """The apiVersion of its objects."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def prefix(self) -> bytes:
        """The prefix of the keys by which controllers name its objects: `things.example.com/NAMESPACE/NAME`.

        They differ from etcd keys, which begin with a slash.
        """
        return f"{self.resource}.{self.group}/".encode()

    def key(self, namespace: str, name: str) -> bytes:
        """The key of an object; `namespace` is "" for cluster-scoped objects."""
        return self.prefix + (f"{namespace}/{name}" if namespace else name).encode()


class ForeignFollower(Protocol):
    """A controller that follows objects of extension API servers. A kind is named by its prefix."""

    def follows(self, prefix: bytes) -> bool:
        """Whether it follows a kind."""
        ...

    def begin(self, prefix: bytes, keys: set[bytes]) -> None:
        """A list of a kind: exactly the objects with these keys exist. Empty if the kind is no longer followed."""
        ...

    def change(self, prefix: bytes, change: Change) -> None:
        """A change of an object, or an object that exists. The entry has only its metadata."""
        ...


class ForeignObjects(Protocol):
    """The objects of extension API servers, with their metadata only.

    If this process follows the kinds (`--controllers`, and only in one process), it knows which objects exist.
    """

    def kind(self, api_version: str, kind: str) -> ForeignKind | None:
        """The kind that an extension API server serves under this name; None without one."""
        ...

    def followed(self) -> Collection[ForeignKind]:
        """The kinds that can be followed, each in one version."""
        ...

    @property
    def complete(self) -> bool:
        """Whether all objects of these kinds have been listed at least once."""
        ...

    def on_change(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Calls `listener` whenever these kinds change; the returned function removes the listener."""
        ...

    def holds(self, kind: ForeignKind, namespace: str, name: str, uid: str) -> bool:
        """Whether an object exists, by the last news of its server, and is not being deleted."""
        ...

    async def places(self, kind: ForeignKind, names: Collection[str], uids: Collection[str]) -> dict[str, str]:
        """The namespaces, by uid, of the known objects that have one of the names and one of the uids."""
        ...

    def count(self, group: str, resource: str, namespace: str) -> int | None:
        """The number of objects of a resource in a namespace, for quotas; None if it is not known."""
        ...

    async def run(self, followers: Sequence[ForeignFollower], user: User) -> None:
        """Follows all kinds, as `user`, until cancelled."""
        ...

    async def metadata(self, kind: ForeignKind, namespace: str, name: str, user: User) -> JsonObject | None:
        """Reads the metadata of an object from its server; None if it does not exist. Raises ForeignError."""
        ...

    async def patch(self, kind: ForeignKind, namespace: str, name: str, metadata: JsonObject, user: User) -> bool:
        """Merges fields into an object's metadata; returns False if it does not exist. Raises ForeignError."""
        ...

    async def delete(self, kind: ForeignKind, namespace: str, name: str, options: JsonObject, user: User) -> bool:
        """Deletes an object with DeleteOptions; returns False if it does not exist. Raises ForeignError."""
        ...
