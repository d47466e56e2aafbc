"""Finds the ends of pipelined requests in the received bytes."""

from __future__ import annotations

import contextlib

import httptools


class _Counter:
    """Counts the requests that a parser has read to their end."""

    complete = 0

    def on_message_complete(self) -> None:
        self.complete += 1


def end_of_messages(data: bytes, count: int) -> int:
    """The number of bytes of the first `count` requests in `data`, all of which must be complete."""
    low, high = 1, len(data)
    while low < high:
        middle = (low + high) // 2
        if _complete(data[:middle]) >= count:
            high = middle
        else:
            low = middle + 1
    return low


def _complete(data: bytes) -> int:
    counter = _Counter()
    parser = httptools.HttpRequestParser(counter)
    with contextlib.suppress(httptools.HttpParserError, httptools.HttpParserUpgrade):
        parser.feed_data(data)
    return counter.complete
