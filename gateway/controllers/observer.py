"""Passes the changes of all resources to the controllers, in order and in time slices.

The observer listens to each watch cache, so it does not poll, and passes each change once. It follows resources that
are added or removed.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

from gateway.controllers.delivery_count import DeliveryCount
from gateway.endpoints.endpoint import Endpoint
from gateway.endpoints.table import EndpointTable
from storage.cache import ResourceCache
from storage.entry import Change, Entry
from storage.guard import guarded, report
from storage.time_slice import TimeSlice

SLICE = 0.003  # seconds of work until other tasks get a turn
_OBSERVER = "controllers"


class ChangeReceiver(Protocol):
    """The interface to receive changes. A resource is named by the prefix of its etcd keys."""

    def follows(self, prefix: bytes) -> bool:
        """Whether it wants the changes of a resource."""
        ...

    def begin(self, prefix: bytes, keys: set[bytes]) -> None:
        """Called before `state` for all present objects, whose keys these are. All other objects do not exist any more.

        Their deletions are not passed to `change`.
        """
        ...

    def state(self, prefix: bytes, entry: Entry) -> None:
        """Called for each present object after `begin`."""
        ...

    def change(self, prefix: bytes, change: Change) -> None:
        """Called for each change of an object."""
        ...


class _CacheListener:
    """Passes the changes of a cache to an observer, with the cache. A control plane in memory has many: closures would
    take four times as much.
    """

    __slots__ = ("_tell", "cache")

    def __init__(self, cache: ResourceCache, tell: Callable[[ResourceCache, Change | None], None]) -> None:
        self.cache, self._tell = cache, tell
        cache.add_listener(self)

    def __call__(self, change: Change | None) -> None:
        self._tell(self.cache, change)

    def end(self) -> None:
        """Passes no more changes."""
        self.cache.remove_listener(self)


class Observer:
    """Passes the state of each resource to the followers, and then its changes."""

    def __init__(self, endpoints: EndpointTable, followers: Sequence[ChangeReceiver], telling: DeliveryCount) -> None:
        self._endpoints, self._followers, self._telling = endpoints, followers, telling
        self._listening: dict[bytes, _CacheListener] = {}
        self._told: deque[tuple[ResourceCache, Change | None]] = deque()
        self._arrived = asyncio.Event()
        self._running = False
        self.complete = asyncio.Event()  # set once the state of the start, and the changes until then, are passed
        self._following: dict[
            bytes, tuple[ChangeReceiver, ...]
        ] = {}  # by prefix; cached until the served resources change
        self.resources: dict[bytes, Endpoint] = {}  # by the prefix of their keys

    @property
    def idle(self) -> bool:
        """Whether all changes were passed to the followers."""
        return not self._told

    def attach(self) -> None:
        """Follows the resources that are served now. Must be called again when they change."""
        if not self._running:
            return
        self.resources = {}
        self._following.clear()
        for resource in self._endpoints.registry.stored():
            endpoint = self._endpoints.of_resource(resource)
            self.resources[endpoint.cache.spec.prefix] = endpoint
        tell = self._tell  # one object for all listeners
        for prefix, endpoint in self.resources.items():
            known = self._listening.get(prefix)
            if known is not None and known.cache is not endpoint.cache:
                known.end()
                known = None
            if known is None:
                self._listening[prefix] = _CacheListener(endpoint.cache, tell)
                tell(endpoint.cache, None)
        for prefix in self._listening.keys() - self.resources.keys():
            ended = self._listening.pop(prefix)
            ended.end()
            tell(ended.cache, None)

    async def run(self) -> None:
        """Passes the state of all resources, and then all changes, until cancelled."""
        self._running = True
        try:
            self.attach()
            await self._tell_next(len(self._told))  # the states
            await self._tell_next(len(self._told))  # changes meanwhile; the states that came later may depend on them
            self.complete.set()
            while True:
                await self._arrived.wait()
                self._arrived.clear()
                while self._told:
                    await self._tell_next(len(self._told))
        finally:
            self._running = False
            for listener in self._listening.values():
                listener.end()
            self._listening.clear()
            self._told.clear()

    def _tell(self, cache: ResourceCache, change: Change | None) -> None:
        self._told.append((cache, change))
        self._telling.expected += 1
        self._arrived.set()

    async def _tell_next(self, number: int) -> None:
        piece = TimeSlice(SLICE)
        for _ in range(number):
            cache, change = self._told[0]
            if change is None:
                await self._tell_state(cache)
            else:
                self._tell_change(cache.spec.prefix, change)
            self._told.popleft()
            if piece.over():
                await piece.next()
        self._telling.count_passed(number)

    def _who_follows(self, prefix: bytes) -> tuple[ChangeReceiver, ...]:
        found = self._following.get(prefix)
        if found is None:
            found = self._following[prefix] = tuple(each for each in self._followers if each.follows(prefix))
        return found

    def _tell_change(self, prefix: bytes, change: Change) -> None:
        readable = change.readable() if change.corrupt else change
        if readable is None:
            return
        for follower in self._who_follows(prefix):
            try:  # inlines `guarded`, to save three calls for each follower of each change
                follower.change(prefix, readable)
            except Exception as error:
                report(_OBSERVER, readable.entry, error)

    async def _tell_state(self, cache: ResourceCache) -> None:
        prefix = cache.spec.prefix
        following = self._who_follows(prefix)
        if not following:
            return
        entries = [] if cache.closed else cache.slice(0, len(cache))
        keys = {entry.key for entry in entries}
        for follower in following:
            follower.begin(prefix, keys)
        piece = TimeSlice(SLICE)
        for entry in entries:
            readable = entry.readable
            if readable is not None:
                for follower in following:
                    with guarded(_OBSERVER, readable):
                        follower.state(prefix, readable)
            if piece.over():
                await piece.next()
