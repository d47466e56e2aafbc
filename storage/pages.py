"""Reads all objects under a prefix as of one revision, in pages; it requests the next page while one is processed.

After the first page the rest comes as one stream if etcd has RangeStream (3.7), else in more pages. The first page has
few keys, because the size of the objects is not known yet: 500 of 1.4 MB would take three times 700 MB. For each page
etcd counts all keys of the requested range: for a million keys in pages of 500 this would take minutes. So pages of
small objects have more keys. And the requested range is about two pages wide, estimated from the distance of the keys
in the last page.
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

FIRST, LEAST, MOST = 32, 8, 10_000  # keys of the first page, and of others
FASTER = 8  # times as many keys as the page before a page has at most: larger objects may follow small ones
BYTES = 4 << 20  # of a page, about, if it has more than the least number of keys
WIDER = 256, 256  # factors by which the next ranges are wider after one with too few keys; the third range has no end
_SIZE = 256  # bytes of a key that `_number` uses


async def pages(client: EtcdClient, prefix: bytes, revision: int = 0) -> AsyncGenerator[tuple[int, Sequence[KeyValue]]]:
    """Yields pages of objects, each with the revision of all pages: `revision`, or for 0 etcd's at the first page.

    Raises StorageError.
    """
    window = _Window(prefix, prefix_end(prefix))
    first = await client.range(window.start, window.end, limit=window.limit, revision=revision)
    revision = revision or first.revision
    more = first.more and window.advance(first.kvs, more=True)
    yield revision, first.kvs
    del first  # its objects need not stay in memory until the end of the stream
    if not more:
        return
    try:
        async with aclosing(client.stream(window.start, window.stop, revision=revision)) as parts:
            async for kvs in parts:
                window.go_on(kvs[-1].key)
                yield revision, kvs
        return
    except StorageError as error:  # the rest comes in pages, which raise the error if it persists
        log.debug("the rest of %r is read in pages: %s", prefix, error)
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
                coming.add_done_callback(_seen)  # its error may never be read, if the caller stops
            if answer.kvs:
                yield answer.kvs
            if not goes_on:
                return
    finally:
        coming.cancel()


@dataclass(slots=True)
class _Window:
    """The next range to request; the whole range ends at `stop`."""

    start: bytes
    stop: bytes
    end: bytes = b""
    limit: int = 0
    width: int = 0
    wider: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        self.end, self.limit = self.stop, FIRST

    def advance(self, found: Sequence[KeyValue], more: bool) -> bool:
        """Moves on after a page; `more` says that its range has more keys. Returns whether there is another page."""
        if more:
            last = found[-1].key
            self.limit = min(_fitting(found), FASTER * self.limit)
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
        """Moves on after a key, without a new estimate of the width."""
        self.start = last + b"\0"
        self.end = self._end()

    def _end(self) -> bytes:
        end = _number(self.start) + self.width
        return end.to_bytes(_SIZE, "big") if self.width and end < _number(self.stop) else self.stop


def _number(key: bytes) -> int:
    """A number for a key, in the same order as keys."""
    return int.from_bytes(key[:_SIZE].ljust(_SIZE, b"\0"), "big")


def _fitting(found: Sequence[KeyValue]) -> int:
    """How many objects of this average size make a page."""
    size = sum(len(each.key) + len(each.value) for each in found) // len(found)
    return min(max(BYTES // max(size, 1), LEAST), MOST)


def _seen(done: asyncio.Task[object]) -> None:
    if not done.cancelled():
        done.exception()
