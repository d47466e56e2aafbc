"""Remembers costly results for an object version: its converted, encoded and parsed forms.

They are kept on the entry and are freed with it. A limit in bytes bounds all of them together: the least recently used
memo is emptied first, and its values are computed again when they are needed.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar
from weakref import ref

LIMIT = 64 << 20  # bytes, in a process
OVERHEAD = 200  # bytes per remembered value, besides its own size

T = TypeVar("T")


class Memo:
    """The remembered values of one object version, by key."""

    __slots__ = ("__weakref__", "making", "size", "use", "values")

    def __init__(self) -> None:
        self.values: dict[object, object] = {}
        self.making: dict[object, asyncio.Future[Any]] = {}
        self.size = 0
        self.use: ref[Memo] | None = None  # its key in `Memos`, once a value is remembered


class Memos:
    """Bounds the total size of all memos."""

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit, self.size = limit, 0
        self._by_use: OrderedDict[ref[Memo], int] = OrderedDict()  # bytes

    def find(self, memo: Memo, key: object) -> object | None:
        """The value that is remembered under a key, None if there is none."""
        found = memo.values.get(key)
        if found is not None and memo.use is not None:
            self._by_use.move_to_end(memo.use)
        return found

    def keep(self, memo: Memo, key: object, value: object, size: int) -> None:
        """Remembers a value of about `size` bytes, unless that is more than a tenth of the limit."""
        size += OVERHEAD
        if size * 10 > self.limit or key in memo.values:
            return
        memo.values[key] = value
        if memo.use is None:
            memo.use = ref(memo, self._gone)
        memo.size += size
        self._by_use[memo.use] = memo.size
        self._by_use.move_to_end(memo.use)
        self.size += size
        while self.size > self.limit:
            use, freed = self._by_use.popitem(last=False)
            self.size -= freed
            if (dropped := use()) is not None:
                dropped.values.clear()
                dropped.size = 0

    def _gone(self, use: ref[Memo]) -> None:
        """Called when a memo was freed with its object version."""
        self.size -= self._by_use.pop(use, 0)


async def made_once(memo: Memo, key: object, make: Callable[[], Awaitable[T]]) -> T:
    """The result of `make`. Concurrent callers with the same key share one call, and get the error if `make` raises.

    A caller that is cancelled does not cancel the call for the others.
    """
    making = memo.making.get(key)
    if making is None:
        making = memo.making[key] = asyncio.ensure_future(make())
        making.add_done_callback(lambda _: memo.making.pop(key, None))
    made: T = await asyncio.shield(making)
    return made
