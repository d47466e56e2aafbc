"""Limits for encoded lists in a process: their memory, and how many are encoded at the same time.

Lists that are requested often are kept as joined bytes (`JoinedItems`). The limit counts kept lists and lists
that are being sent. The least recently used ones are dropped first. A list that does not fit is encoded while
it is sent.
"""

from __future__ import annotations

import asyncio
import time
import weakref
from collections import OrderedDict
from collections.abc import MutableMapping

from gateway.encodings.rendering_process import RenderingProcess
from gateway.http.status import too_many_requests
from gateway.http.thread_pool import submit
from gateway.memory import trim

LIMIT = 256 << 20  # bytes of joined lists
MOST = 64  # lists that are encoded while they are sent, at the same time
IDLE = 10.0  # seconds after which an unused list is dropped
RETRY_AFTER = 1  # seconds
_BUSY = "The server renders as many large lists as it can, please try again later."


class JoinedItems:
    """The encoded pieces of a list's items, kept in `home` under `key` while the list is in use.

    `parts` has for each piece the range of its items, and the time until which it is valid.
    """

    __slots__ = ("__weakref__", "_renderings", "entries", "groups", "home", "key", "parts", "size", "used")

    def __init__(self, renderings: Renderings, size: int, entries: int) -> None:
        self._renderings, self.size, self.entries = renderings, size, entries
        self.groups: asyncio.Future[list[bytes]]
        self.parts: list[tuple[int, int, float]] = []
        self.home: MutableMapping[object, object] | None = None
        self.key: object = None
        self.used = 0.0

    def __del__(self) -> None:
        self._renderings.forget(id(self), self.size)


class Permit:
    """The right to encode one list while it is sent. It is returned when the object is freed."""

    __slots__ = ("_renderings",)

    def __init__(self, renderings: Renderings) -> None:
        self._renderings = renderings

    def __del__(self) -> None:
        self._renderings.give_back()


class Renderings:
    """The budget for encoded lists. All requests of a process share it."""

    def __init__(self, limit: int = LIMIT, most: int = MOST) -> None:
        self._limit, self._most = limit, most
        self._size = 0  # bytes of all joined lists
        self._under_way = 0
        self._kept: OrderedDict[int, weakref.ref[JoinedItems]] = OrderedDict()  # by use
        self._sweeper: asyncio.TimerHandle | None = None
        self._dirty = False  # whether big buffers were freed since the last `trim`
        self.apart = RenderingProcess()

    # memory

    def fits(self, size: int) -> bool:
        """Whether a list of `size` bytes may be joined: not if it takes more than half the limit. Makes room for it."""
        if size > self._limit // 2:
            return False
        self._make_room(size)
        return self._size + size <= self._limit

    def join(self, size: int, entries: int) -> JoinedItems:
        """Counts a list that will be joined, until the result is freed. Raises StatusError 429 if there is no room.

        A single list may be of any size.
        """
        self._make_room(size)
        if self._size and self._size + size > self._limit:
            raise too_many_requests(_BUSY, RETRY_AFTER)
        self._size += size
        return JoinedItems(self, size, entries)

    def keep(self, joined: JoinedItems, home: MutableMapping[object, object], key: object) -> None:
        """Keeps a list in `home`, whose owner may drop it at any time."""
        joined.home, joined.key = home, key
        home[key] = joined
        self._kept[id(joined)] = weakref.ref(joined)
        self.use(joined)

    def use(self, joined: JoinedItems) -> None:
        """Notes that a list was requested."""
        joined.used = time.monotonic()
        if id(joined) in self._kept:
            self._kept.move_to_end(id(joined))
        if self._sweeper is None:
            self._schedule()

    def forget(self, identity: int, size: int) -> None:
        """Called when a list was freed."""
        self._size -= size
        self._dirty = True
        self._kept.pop(identity, None)

    def _make_room(self, size: int) -> None:
        while self._kept and self._size + size > self._limit:
            self._drop(self._kept.popitem(last=False)[1]())

    @staticmethod
    def _drop(joined: JoinedItems | None) -> None:
        if joined is not None and joined.home is not None and joined.home.get(joined.key) is joined:
            del joined.home[joined.key]

    def _schedule(self) -> None:
        self._sweeper = asyncio.get_running_loop().call_later(IDLE / 5, self._sweep)

    def _sweep(self) -> None:
        """Drops lists that were not requested for `IDLE` seconds, and returns free memory to the system."""
        self._sweeper = None
        oldest, joined = time.monotonic() - IDLE, None
        while self._kept:
            joined = next(iter(self._kept.values()))()
            if joined is not None and joined.used > oldest:
                break
            self._kept.popitem(last=False)
            self._drop(joined)
        joined = None
        if self._dirty:
            self._dirty = False
            submit(trim)
        if self._kept or self._under_way:
            self._schedule()

    # places

    def place(self) -> Permit:
        """A place for a list that is encoded while it is sent. Raises StatusError 429 if none is left."""
        if self._under_way >= self._most:
            raise too_many_requests(_BUSY, RETRY_AFTER)
        self._under_way += 1
        if self._sweeper is None:
            self._schedule()
        return Permit(self)

    def give_back(self) -> None:
        """Called when a place was freed."""
        self._under_way -= 1
        self._dirty = True
