"""All objects under a prefix as of one revision, in pages, the next of which is asked for while one is worked on.

What the first page leaves comes as one stream where etcd has RangeStream (3.7), else in more pages. For each page etcd
counts all keys of the range that it is asked for: a million in pages of 500 would take it minutes. So pages are large
where objects are small, and the range of a page ends where two pages are expected to end, by how far apart the keys of
the last page were.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from storage.errors import StorageError
from storage.etcd import EtcdClient, KeyValue
from storage.keys import prefix_end

log = logging.getLogger(__name__)

LEAST, MOST = 500, 10_000  # keys of a page
BYTES = 4 << 20  # of a page, about, where it has more keys than the least
WIDER = 256, 256  # times as wide as before are the next ranges after one that had too little; then they end nowhere
_SIZE = 256  # bytes of a key that are looked at as a number


async def pages(client: EtcdClient, prefix: bytes, revision: int = 0) -> AsyncGenerator[tuple[int, Sequence[KeyValue]]]:
    """The objects in pages, each with the revision as of which all are: this one, or etcd's own at the first page.

    Raises StorageError.
    """
    window = _Window(prefix, prefix_end(prefix))
    first = await client.range(window.start, window.end, limit=window.limit, revision=revision)
    revision = revision or first.revision
    yield revision, first.kvs
    if not first.more:
        return
    window.advance(first.kvs, more=True)
    try:
        async with aclosing(client.stream(window.start, window.stop, revision=revision)) as parts:
            async for kvs in parts:
                window.go_on(kvs[-1].key)
                yield revision, kvs
        return
    except StorageError as error:  # the rest comes in pages; what is wrong is raised there, if it still is
        log.debug("what is left of %r is read in pages: %s", prefix, error)
    async with aclosing(_rest(client, window, revision)) as parts:
        async for found in parts:
            yield revision, found


async def _rest(client: EtcdClient, window: _Window, revision: int) -> AsyncGenerator[Sequence[KeyValue]]:
    asked = client.range(window.start, window.end, limit=window.limit, revision=revision)
    coming = asyncio.create_task(asked)
    try:
        while True:
            answer = await coming
            goes_on = window.advance(answer.kvs, answer.more)
            if goes_on:
                asked = client.range(window.start, window.end, limit=window.limit, revision=revision)
                coming = asyncio.create_task(asked)
                coming.add_done_callback(_seen)  # its failure is nobody's where the pages before it are given up
            if answer.kvs:
                yield answer.kvs
            if not goes_on:
                return
    finally:
        coming.cancel()


@dataclass(slots=True)
class _Window:
    """The range that is asked for next, of all up to `stop`."""

    start: bytes
    stop: bytes
    end: bytes = b""
    limit: int = LEAST
    width: int = 0
    wider: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        self.end, self.limit = self.stop, LEAST

    def advance(self, found: Sequence[KeyValue], more: bool) -> bool:
        """Goes on after what was found, of which there is `more` in the range; whether anything is left to ask for."""
        if more:
            last = found[-1].key
            self.limit = _fitting(found)
            width = (_number(last) - _number(self.start)) * 2 * self.limit // len(found)
            self.start, self.width, self.wider = last + b"\0", max(width, 1), WIDER
        elif self.end == self.stop:
            return False
        else:
            self.start = self.end
            self.width, self.wider = (self.width * self.wider[0], self.wider[1:]) if self.wider else (0, ())
        self.end = self._end()
        return True

    def go_on(self, last: bytes) -> None:
        """Goes on after a key; what was found is not looked at."""
        self.start = last + b"\0"
        self.end = self._end()

    def _end(self) -> bytes:
        end = _number(self.start) + self.width
        return end.to_bytes(_SIZE, "big") if self.width and end < _number(self.stop) else self.stop


def _number(key: bytes) -> int:
    """A number that is in the order of keys."""
    return int.from_bytes(key[:_SIZE].ljust(_SIZE, b"\0"), "big")


def _fitting(found: Sequence[KeyValue]) -> int:
    """How many objects as large as these make a page."""
    size = sum(len(each.key) + len(each.value) for each in found) // len(found)
    return min(max(BYTES // max(size, 1), LEAST), MOST)


def _seen(done: asyncio.Task[object]) -> None:
    if not done.cancelled():
        done.exception()
