"""Limits of encoded lists in a process: their memory, and how many are encoded at the same time.

Lists that are requested often are kept as joined bytes (`Joined`). All kept lists, and lists on their way to a client,
count; those that were not used for the longest time go first. A list that does not fit is encoded while it is sent.
"""

from __future__ import annotations

import asyncio
import time
import weakref
from collections import OrderedDict
from collections.abc import MutableMapping

from gateway.encodings.rendering_process import Apart
from gateway.http.status import too_many_requests
from gateway.http.thread_pool import submit
from gateway.memory import trim

LIMIT = 256 << 20  # bytes of joined lists
MOST = 64  # lists that are made while they are sent
IDLE = 10.0  # seconds after which an unused list is dropped
RETRY_AFTER = 1  # seconds
_BUSY = "The server renders as many large lists as it can, please try again later."


class Joined:
    """The pieces of a list's items, kept in `home` under `key` for as long as that pays.

    `parts` tells of each piece which items it is of, and until when it is right.
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


class Place:
    """One list that is made while it is sent, for as long as somebody has this."""

    __slots__ = ("_renderings",)

    def __init__(self, renderings: Renderings) -> None:
        self._renderings = renderings

    def __del__(self) -> None:
        self._renderings.give_back()


class Renderings:
    """Shared by all requests of a process."""

    def __init__(self, limit: int = LIMIT, most: int = MOST) -> None:
        self._limit, self._most = limit, most
        self._size = 0  # bytes of all that is joined
        self._under_way = 0
        self._kept: OrderedDict[int, weakref.ref[Joined]] = OrderedDict()  # by use
        self._sweeper: asyncio.TimerHandle | None = None
        self._dirty = False  # whether big buffers were freed since memory was given back
        self.apart = Apart()

    # memory

    def fits(self, size: int) -> bool:
        """Whether a list of `size` bytes may be joined; makes room for it. One that is alone always may."""
        if size > self._limit // 2:
            return False
        self._make_room(size)
        return self._size + size <= self._limit

    def join(self, size: int, entries: int) -> Joined:
        """Counts a list that is about to be joined, for as long as somebody has it. Raises StatusError 429."""
        self._make_room(size)
        if self._size and self._size + size > self._limit:
            raise too_many_requests(_BUSY, RETRY_AFTER)
        self._size += size
        return Joined(self, size, entries)

    def keep(self, joined: Joined, home: MutableMapping[object, object], key: object) -> None:
        """Keeps a list in `home`, which may drop it when it likes."""
        joined.home, joined.key = home, key
        home[key] = joined
        self._kept[id(joined)] = weakref.ref(joined)
        self.use(joined)

    def use(self, joined: Joined) -> None:
        """A list was asked for."""
        joined.used = time.monotonic()
        if id(joined) in self._kept:
            self._kept.move_to_end(id(joined))
        if self._sweeper is None:
            self._schedule()

    def forget(self, identity: int, size: int) -> None:
        """Nobody has a list any more."""
        self._size -= size
        self._dirty = True
        self._kept.pop(identity, None)

    def _make_room(self, size: int) -> None:
        while self._kept and self._size + size > self._limit:
            self._drop(self._kept.popitem(last=False)[1]())

    @staticmethod
    def _drop(joined: Joined | None) -> None:
        if joined is not None and joined.home is not None and joined.home.get(joined.key) is joined:
            del joined.home[joined.key]

    def _schedule(self) -> None:
        self._sweeper = asyncio.get_running_loop().call_later(IDLE / 5, self._sweep)

    def _sweep(self) -> None:
        """Drops what was not asked for lately, and gives memory back."""
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

    def place(self) -> Place:
        """A place for a list that is made while it is sent. Raises StatusError 429 where there is none left."""
        if self._under_way >= self._most:
            raise too_many_requests(_BUSY, RETRY_AFTER)
        self._under_way += 1
        if self._sweeper is None:
            self._schedule()
        return Place(self)

    def give_back(self) -> None:
        """A place is free again."""
        self._under_way -= 1
        self._dirty = True
