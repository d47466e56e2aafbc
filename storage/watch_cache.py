"""The watch cache: all resources' caches, and the one revision that they have reached together.

One `ResourceCache` a storage prefix. All of them move together: `WatchCache.reached` is the one revision up to which
this process has seen everything, whatever the resource.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from heapq import heapify, heappop, heappush

from storage.cache import ResourceCache, ResourceSpec
from storage.entry import Entry
from storage.unowned import Unowned


class WatchCache:
    """All resource caches, and the one revision that they have reached."""

    def __init__(self, root: bytes) -> None:
        self.root = root  # "/registry/"
        self._start = len(root)
        self.reached = 0
        self.compacted = 0  # the revision that etcd is known to be compacted to: no list is of an older one
        self.starts = 0  # how often everything was forgotten
        self._by_segment: dict[bytes, ResourceCache] = {}
        self.unfilled: dict[bytes, ResourceCache] = {}  # set aside until their objects are loaded (storage/filling.py)
        self.unowned = Unowned(root)
        self._loading: frozenset[ResourceCache] = frozenset()  # those that make entries of what is being loaded
        self.adopting = asyncio.Lock()  # one resource at a time
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._sequence = 0
        self._crowd = 256  # how many may wait before it is looked whether they still do

    def register(self, spec: ResourceSpec) -> ResourceCache:
        """Adds a resource before the feed starts (later: storage/adoption.py); the same prefix gives the same cache."""
        segment = self._segment(spec.prefix)
        found = self._by_segment.get(segment, self.unfilled.get(segment))
        return self.add(ResourceCache(spec)) if found is None else found

    def add(self, resource: ResourceCache) -> ResourceCache:
        """Adds a cache that has all objects of its resource as of the revision that is reached."""
        resource.history.start = self.reached
        segment = self._segment(resource.spec.prefix)
        self.unfilled.pop(segment, None)
        self._by_segment[segment] = resource
        return resource

    def set_aside(self, kept: Iterable[bytes]) -> None:
        """Has no objects for the time being but those under the prefixes `kept`: the others' caches are unfilled."""
        wanted = {self._segment(prefix) for prefix in kept}
        for segment in self._by_segment.keys() - wanted:
            self.unfilled[segment] = self._by_segment.pop(segment)

    def unfilled_of(self, key: bytes) -> ResourceCache | None:
        """The cache that a key belongs to, where that is unfilled."""
        if not self.unfilled:
            return None
        return next((each for each in self.unfilled.values() if key.startswith(each.spec.prefix)), None)

    def remove(self, resource: ResourceCache) -> None:
        """Ends a cache; who follows it is overrun."""
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
        """Everything is about to be loaded, perhaps not for the first time: an attempt before may have failed.

        `anew` says that the caches are to have what is loaded instead of what they have.
        """
        self._loading = frozenset(self) if anew else frozenset()

    def end_load(self) -> None:
        """All has been loaded, or that has failed: caches that go are not to stay for it."""
        self._loading = frozenset()

    def kept(self, key: bytes, value: bytes, revision: int) -> bytes | Entry:
        """What is kept of a value while all are being loaded: where they are loaded anew, the entry that it gives.

        So the bytes are not there twice, and no load makes all entries in one turn of the loop.
        """
        resource = self.of_key(key)
        return resource.entry(key, value, revision) if resource in self._loading else value

    @property
    def load_fits(self) -> bool:
        """Whether what was kept may be taken: each cache that has read a part of it is still there."""
        return self._loading.issubset(self)

    def start_over(self) -> None:
        """Forgets everything, as when etcd's past turns out not to be what was seen."""
        if self.reached:
            self.reached = self.compacted = 0
            self.starts += 1
            for resource in self:
                resource.start_over()

    def forget(self, revision: int) -> None:
        """etcd was compacted to a revision. Watches go on from what the histories have, as with kube-apiserver."""
        if self.compacted < revision <= self.reached:
            self.compacted = revision

    def advance(self, revision: int) -> None:
        """Everything up to a revision has been applied: lets those go on who wait for it."""
        if revision <= self.reached:
            return
        self.reached = revision
        waiting = self._waiting
        while waiting and waiting[0][0] <= revision:
            future = heappop(waiting)[2]
            if not future.done():
                future.set_result(None)

    def reach(self, revision: int) -> asyncio.Future[None]:
        """A future that is done once `revision` is reached. Cancel it when it is no longer waited for."""
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
        """Drops those who gave up, which else stayed until their revision comes."""
        self._waiting = [each for each in self._waiting if not each[2].done()]
        heapify(self._waiting)
        self._crowd = max(256, 2 * len(self._waiting))
