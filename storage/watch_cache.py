"""The watch cache: the caches of all resources, and the one revision that they have reached together.

Each storage prefix has a `ResourceCache`. All of them move together: `WatchCache.reached` is the revision up to which
this process has applied all changes of all resources.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from heapq import heapify, heappop, heappush

from storage.cache import ResourceCache
from storage.entry import Entry, ResourceSpec
from storage.unowned_objects import Unowned


class WatchCache:
    """All resource caches, and the one revision that they have reached."""

    def __init__(self, root: bytes) -> None:
        self.root = root  # "/registry/"
        self._start = len(root)
        self.reached = 0
        self.compacted = 0  # the compact revision of etcd, as far as known: no list is answered at an older one
        self.starts = 0  # how often the whole cache was emptied
        self._by_segment: dict[bytes, ResourceCache] = {}
        self.unfilled: dict[bytes, ResourceCache] = {}  # set aside until their objects are loaded (storage/fill.py)
        self.unowned = Unowned(root)
        self._loading: frozenset[ResourceCache] = frozenset()  # caches whose entries the running load makes
        self.adopting = asyncio.Lock()  # one resource at a time
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._sequence = 0
        self._crowd = 256  # waiters from which on cancelled ones are removed

    def register(self, spec: ResourceSpec) -> ResourceCache:
        """Adds a resource before the feed starts, or returns the cache of that prefix. Later: storage/adoption.py."""
        segment = self._segment(spec.prefix)
        found = self._by_segment.get(segment, self.unfilled.get(segment))
        return self.add(ResourceCache(spec)) if found is None else found

    def add(self, resource: ResourceCache) -> ResourceCache:
        """Adds a cache that has all objects of its resource as of the revision `reached`."""
        resource.history.start = self.reached
        segment = self._segment(resource.spec.prefix)
        self.unfilled.pop(segment, None)
        self._by_segment[segment] = resource
        return resource

    def set_aside(self, kept: Iterable[bytes]) -> None:
        """Marks all caches as unfilled except those of the prefixes `kept`."""
        wanted = {self._segment(prefix) for prefix in kept}
        for segment in self._by_segment.keys() - wanted:
            self.unfilled[segment] = self._by_segment.pop(segment)

    def unfilled_of(self, key: bytes) -> ResourceCache | None:
        """The unfilled cache that a key belongs to; None if there is none."""
        if not self.unfilled:
            return None
        return next((each for each in self.unfilled.values() if key.startswith(each.spec.prefix)), None)

    def remove(self, resource: ResourceCache) -> None:
        """Removes a cache; the positions of its watches are overrun."""
        del self._by_segment[self._segment(resource.spec.prefix)]
        resource.closed = True
        resource.start_over()
        resource.wake_all()

    def has(self, prefix: bytes) -> bool:
        """Whether a resource is registered."""
        segment = self._segment(prefix)
        return segment in self._by_segment or segment in self.unfilled

    def _segment(self, prefix: bytes) -> bytes:
        return prefix[len(self.root) : -1]

    def __iter__(self) -> Iterator[ResourceCache]:
        return iter(self._by_segment.values())

    def of_key(self, key: bytes) -> ResourceCache | None:
        """The cache that a key belongs to, None for keys of no resource."""
        known, start = self._by_segment, self._start
        end = key.find(b"/", start)
        if end < 0:
            return None
        segment = key[start:end]
        if segment in known:
            return known[segment]
        end = key.find(b"/", end + 1)
        return None if end < 0 else known.get(key[start:end])

    def begin_load(self, anew: bool) -> None:
        """Called before everything is loaded, also after a failed attempt.

        `anew` says that the loaded objects will replace the content of the caches.
        """
        self._loading = frozenset(self) if anew else frozenset()

    def end_load(self) -> None:
        """Called after a load, also a failed one: frees the references to the caches."""
        self._loading = frozenset()

    def kept(self, key: bytes, value: bytes, revision: int) -> bytes | Entry:
        """The form in which a load keeps a value: its entry if the caches are loaded anew, else the value itself.

        So memory does not hold the bytes twice, and no load makes all entries in one turn of the event loop.
        """
        resource = self.of_key(key)
        return resource.entry(key, value, revision) if resource in self._loading else value

    @property
    def load_fits(self) -> bool:
        """Whether the loaded entries may be used: all caches that made entries for it are still registered."""
        return self._loading.issubset(self)

    def start_over(self) -> None:
        """Empties all caches, such as when etcd has another history than the cache saw."""
        if self.reached:
            self.reached = self.compacted = 0
            self.starts += 1
            for resource in self:
                resource.start_over()

    def forget(self, revision: int) -> None:
        """Notes that etcd was compacted to a revision. Watches still use older changes of the histories, as in
        kube-apiserver.
        """
        if self.compacted < revision <= self.reached:
            self.compacted = revision

    def advance(self, revision: int) -> None:
        """Notes that all changes up to a revision are applied, and wakes the waiters for it."""
        if revision <= self.reached:
            return
        self.reached = revision
        waiting = self._waiting
        while waiting and waiting[0][0] <= revision:
            future = heappop(waiting)[2]
            if not future.done():
                future.set_result(None)

    def reach(self, revision: int) -> asyncio.Future[None]:
        """A future that is done once `revision` is reached. A caller that stops waiting has to cancel it."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self.reached >= revision:
            future.set_result(None)
        else:
            self._sequence += 1
            if len(self._waiting) >= self._crowd:
                self._forget_cancelled()
            heappush(self._waiting, (revision, self._sequence, future))
        return future

    def _forget_cancelled(self) -> None:
        """Drops cancelled waiters, which would stay until their revision is reached."""
        self._waiting = [each for each in self._waiting if not each[2].done()]
        heapify(self._waiting)
        self._crowd = max(256, 2 * len(self._waiting))
