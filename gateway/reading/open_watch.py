"""One open watch: the resource that it follows, its position, its end, and the changes that it writes at once.

A watcher is only a position in the resource's history, without a buffer. What is done in the turn of a change stands
here; the chunks that its task makes stand in watch_stream.py.
"""

from __future__ import annotations

import random
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Protocol

from gateway.encodings.encoder import Encoder
from gateway.endpoints.endpoint import Endpoint
from gateway.http.pouring import Sink
from gateway.reading.list_options import ListOptions
from gateway.reading.view import View

BOOKMARK_INTERVAL = 60.0
BOOKMARK_BEFORE_END = 2.0


Steering = Callable[[bytes], AsyncIterator[bytes]]
"""A function by which tests steer a watch: it takes each chunk, or b"" when it is woken without one, and returns the
chunks to send.

Raises Overrun to end the stream, StatusError to end it with an event that says so, Reset to break it off.
"""


class State(Protocol):
    """Whether a watch has a task, and whether that task works; see watch_states.py."""

    @property
    def rests(self) -> bool:
        """Whether it has no task, and goes on when its sink is woken."""
        ...

    def end(self) -> None:
        """Has its task work, if it does not."""
        ...


class Working:
    """The watch has a task that works: it finds by itself what changes meanwhile."""

    __slots__ = ()
    rests = False

    def end(self) -> None:
        """It works already."""


WORKING = Working()


@dataclass(slots=True, eq=False, weakref_slot=True)
class OpenWatch:
    """What is known of one watch in each of its states."""

    endpoint: Endpoint
    encoder: Encoder
    view: View
    options: ListOptions
    position: int = -1  # in the history: what comes next; -1 until it is known
    deadline: float = 0.0
    next_bookmark: float = 0.0
    sink: Sink | None = None  # where chunks may be written at once
    steering: Steering | None = None
    told: Callable[[int], None] | None = None  # is told how many events were sent
    state: State = WORKING
    _opened: bool = False  # whether a chunk has been given
    _ends_early: bool = False  # whether it is known that the process will stop

    def start_clock(self) -> None:
        """Decides when the watch ends, and when its first bookmark is due."""
        least = self.endpoint.services.settings.min_request_timeout
        timeout = self.options.watch_seconds or least * (1 + random.random())
        now = time.monotonic()
        self.deadline = now + timeout
        self.next_bookmark = min(now + BOOKMARK_INTERVAL, max(now, self.deadline - BOOKMARK_BEFORE_END))
        if not self.options.allow_bookmarks or timeout <= BOOKMARK_BEFORE_END:
            self.next_bookmark = self.deadline + 1

    def schedule_bookmark(self, now: float) -> None:
        """Decides when the bookmark after one of `now` is due."""
        last = self.deadline - BOOKMARK_BEFORE_END
        self.next_bookmark = min(now + BOOKMARK_INTERVAL, last) if now < last else self.deadline + 1

    def spread_end(self) -> None:
        """Has the watch end before the process stops, at another time than other watches."""
        services = self.endpoint.services
        if services.draining.is_set() and not self._ends_early:
            self._ends_early = True
            now = time.monotonic()
            left = max(0.0, services.ends_at - now)
            self.deadline = min(self.deadline, now + left * random.uniform(0.5, 1))

    def is_over(self) -> bool:
        """Whether the server stops, or no longer serves the watched resource."""
        return self.endpoint.services.stopping.is_set() or self.endpoint.ended

    def opening(self, chunk: bytes) -> bytes:
        """A chunk as it is sent: what a representation begins with comes before the first one."""
        if self._opened:
            return chunk
        self._opened = True
        return self.encoder.opening(chunk)

    def sent(self, events: int, size: int) -> None:
        """Counts events that were sent, and their bytes."""
        self.endpoint.watch_measures.sent(events, size)
        if self.told is not None:
            self.told(events)

    def write_changes(self) -> bool:
        """Writes the changes at once. False when changes are left, or when they cannot be written at once."""
        endpoint, sink = self.endpoint, self.sink
        if sink is None or self.steering is not None or endpoint.versions.converts or self.is_over():
            return False
        if endpoint.services.draining.is_set() and not self._ends_early:
            return False
        end = endpoint.cache.history.end
        if self.position < end:
            try:
                chunk, reached = self.view.chunk(self.position)
            except Exception:  # comes again where it ends the stream
                return False
            events = self.view.count
            if chunk and not self._pour(sink, chunk):
                return False
            if chunk:
                self.sent(events, len(chunk))
            self.position = reached
        return self.position >= end

    def write_bookmark(self, now: float) -> bool:
        """Writes a bookmark at once; False when its client is slow."""
        chunk = self.encoder.bookmark(self.endpoint.store.cache.reached)
        poured = self.sink is not None and self._pour(self.sink, chunk)
        if poured:
            self.schedule_bookmark(now)
        return poured

    def _pour(self, sink: Sink, chunk: bytes) -> bool:
        poured = sink.pour(chunk if self._opened else self.encoder.opening(chunk))
        self._opened = self._opened or poured
        return poured
