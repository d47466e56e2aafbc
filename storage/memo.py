"""Remembers what is costly to make of an object version: its converted, encoded and parsed forms.

They are kept on the entry and go with it. All of them together are bounded by bytes: the one that was not used for the
longest time goes first, and is made again when it is needed.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar
from weakref import ref

LIMIT = 64 << 20  # bytes, in a process
OVERHEAD = 200  # bytes that remembering one thing takes

T = TypeVar("T")


class Memo:
    """What is remembered of one object version."""

    __slots__ = ("__weakref__", "making", "size", "use", "values")

    def __init__(self) -> None:
        self.values: dict[object, object] = {}
        self.making: dict[object, asyncio.Future[Any]] = {}
        self.size = 0
        self.use: ref[Memo] | None = None  # where the bounds know it, once something is remembered


class Memos:
    """Bounds what all memos hold together."""

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit, self.size = limit, 0
        self._by_use: OrderedDict[ref[Memo], int] = OrderedDict()  # bytes

    def find(self, memo: Memo, key: object) -> object | None:
        """What is remembered under a key, None if nothing is."""
        found = memo.values.get(key)
        if found is not None and memo.use is not None:
            self._by_use.move_to_end(memo.use)
        return found

    def keep(self, memo: Memo, key: object, value: object, size: int) -> None:
        """Remembers a value of about `size` bytes, but for one that took more than a tenth of the room there is."""
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
        """With its object version a memo has gone."""
        self.size -= self._by_use.pop(use, 0)


async def made_once(memo: Memo, key: object, make: Callable[[], Awaitable[T]]) -> T:
    """What `make` gives; those who ask while it is being made wait for the same. Raises what it raises, to all of them.

    Whoever is cancelled meanwhile leaves the others waiting for it.
    """
    making = memo.making.get(key)
    if making is None:
        making = memo.making[key] = asyncio.ensure_future(make())
        making.add_done_callback(lambda _: memo.making.pop(key, None))
    made: T = await asyncio.shield(making)
    return made
