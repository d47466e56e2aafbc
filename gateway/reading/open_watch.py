"""One open watch: the resource that it follows, its position, its deadline, and the changes that it writes directly.

A watch is only a position in the resource's history, without a buffer. This module has the work of a watch without its
task, in the turn of the loop in which an object changes. The work of its task is in watch_stream.py.
"""

from __future__ import annotations

import random
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Protocol

from gateway.encodings.encoder import Encoder
from gateway.endpoints.endpoint import Endpoint
from gateway.http.answer_sink import AnswerSink
from gateway.http.compression import LITTLE
from gateway.reading.list_options import ListOptions
from gateway.reading.view import WatchView

BOOKMARK_INTERVAL = 60.0
BOOKMARK_BEFORE_END = 2.0


Steering = Callable[[bytes], AsyncIterator[bytes]]
"""A function by which tests control a watch. It gets each chunk, or b"" when the watch is woken without one, and
returns the chunks to send.

It raises Overrun to end the stream, StatusError to end it with an ERROR event, Reset to reset the connection.
"""


class WatchState(Protocol):
    """The state of a watch: working, waiting or resting (watch_states.py)."""

    @property
    def rests(self) -> bool:
        """Whether the watch has no task; waking its sink starts one."""
        ...

    def end(self) -> None:
        """Ends the state, so that the watch works."""
        ...

    def leave(self) -> None:
        """Called by a new task of the watch: ends its rest."""
        ...


class Working:
    """The task of the watch is working. It finds changes by itself, so that the cache need not notify it."""

    __slots__ = ()
    rests = False

    def end(self) -> None:
        """Does nothing: the watch works already."""

    def leave(self) -> None:
        """Does nothing."""


WORKING = Working()


@dataclass(slots=True, eq=False, weakref_slot=True)
class OpenWatch:
    """The data of one watch, for all its states."""

    endpoint: Endpoint
    encoder: Encoder
    view: WatchView
    options: ListOptions
    position: int = -1  # index of the next event in the history; -1 until it is known
    deadline: float = 0.0
    next_bookmark: float = 0.0
    sink: AnswerSink | None = None  # takes chunks that are written directly
    packs: bool = False  # whether its chunks are sent with gzip
    steering: Steering | None = None
    told: Callable[[int], None] | None = None  # called with the number of events sent
    state: WatchState = WORKING
    _opened: bool = False  # whether the first chunk has been sent
    _ends_early: bool = False  # whether the deadline was moved because the process will stop

    def start_clock(self) -> None:
        """Sets the deadline of the watch and the time of its first bookmark."""
        least = self.endpoint.services.settings.min_request_timeout
        timeout = self.options.watch_seconds or least * (1 + random.random())
        now = time.monotonic()
        self.deadline = now + timeout
        self.next_bookmark = min(now + BOOKMARK_INTERVAL, max(now, self.deadline - BOOKMARK_BEFORE_END))
        if not self.options.allow_bookmarks or timeout <= BOOKMARK_BEFORE_END:
            self.next_bookmark = self.deadline + 1

    def schedule_bookmark(self, now: float) -> None:
        """Sets the time of the next bookmark, after one at `now`."""
        last = self.deadline - BOOKMARK_BEFORE_END
        self.next_bookmark = min(now + BOOKMARK_INTERVAL, last) if now < last else self.deadline + 1

    def spread_end(self) -> None:
        """Moves the deadline before the stop of the process, to a random time, so that not all watches end at once."""
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
        """The chunk to send; the first one begins with the encoder's opening."""
        if self._opened:
            return chunk
        self._opened = True
        return self.encoder.opening(chunk)

    def sent(self, events: int, size: int) -> None:
        """Counts sent events and their bytes."""
        self.endpoint.watch_measures.sent(events, size)
        if self.told is not None:
            self.told(events)

    def write_changes(self) -> bool:
        """Writes new changes directly to the sink. Returns False if the task must work: changes are left, or the watch
        cannot write directly.
        """
        endpoint, sink = self.endpoint, self.sink
        if sink is None or self.steering is not None or endpoint.versions.converts or self.is_over():
            return False
        if endpoint.services.draining.is_set() and not self._ends_early:
            return False
        end = endpoint.cache.history.end
        if self.position < end:
            try:
                chunk, reached = self.view.chunk(self.position)
            except Exception:  # the task meets the same error, and ends the stream
                return False
            events = self.view.count
            if self.packs and len(chunk) >= LITTLE:  # the task has it packed in a thread
                return False
            if chunk and not self._pour(sink, chunk):
                return False
            if chunk:
                self.sent(events, len(chunk))
            self.position = reached
        return self.position >= end

    def write_bookmark(self, now: float) -> bool:
        """Writes a bookmark directly to the sink. Returns False if there is no sink or the client is slow."""
        chunk = self.encoder.bookmark(self.endpoint.store.cache.reached)
        poured = self.sink is not None and self._pour(self.sink, chunk)
        if poured:
            self.schedule_bookmark(now)
        return poured

    def _pour(self, sink: AnswerSink, chunk: bytes) -> bool:
        if not self._opened:
            chunk = self.encoder.opening(chunk)
        poured = sink.pour(self.view.packed(chunk) if self.packs else chunk)
        self._opened = self._opened or poured
        return poured
