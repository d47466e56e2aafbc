"""Sinks, which write events, and the limits for waiting events. No sink blocks the event loop."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from gateway import pieces
from gateway.audit.batches import Batching, Throttle
from gateway.audit.counts import Counts
from gateway.audit.event import AuditEvent
from gateway.audit.rotation import Keeping, RotatedFile
from gateway.audit.truncation import EventSizes, EventTooLarge, fitting

logger = logging.getLogger(__name__)

MOST_WAITING = 64 << 20  # bytes of events that wait to be written, in batch mode
_LOG_INTERVAL = 10.0  # seconds between two log entries about lost events
_AT_ONCE = 400  # events that are written together
_ENDING = 5.0  # seconds to write the last events when the server stops


Waiting = tuple[AuditEvent, "asyncio.Future[bool] | None"]
"""An event, and a future for whether it was written, if its request waits for that."""
Batch = list[Waiting]


class AuditMode(StrEnum):
    """Whether requests wait for their events: BATCH, no; BLOCKING, until they are written; STRICT, also fail if not."""

    BATCH = "batch"
    BLOCKING = "blocking"
    STRICT = "blocking-strict"


class EventSink(Protocol):
    """A destination of events."""

    async def take(self, event: AuditEvent) -> bool:
        """Takes an event; returns False if the request must fail because the event was not written."""
        ...

    async def close(self) -> None:
        """Writes the waiting events and closes the sink."""
        ...


class Complaints:
    """Counts lost events, and logs them at most every _LOG_INTERVAL seconds."""

    def __init__(self, what: str, counts: Counts) -> None:
        self._what, self._counts = what, counts
        self._lost, self._last = 0, float("-inf")

    def lost(self, count: int, part: str, reason: object) -> None:
        """Counts events that a part of the sink has lost. The log shows nothing of an event: it may hold secrets."""
        self._counts.errors[part] += count
        self._lost += count
        if time.monotonic() - self._last >= _LOG_INTERVAL:
            self._last = time.monotonic()
            logger.error("%s: %d audit events lost: %s", self._what, self._lost, reason)
            self._lost = 0


class LogSink:
    """Writes events as lines to a file or to standard output ("-"), in a thread of its own."""

    def __init__(
        self,
        path: str,
        keeping: Keeping,
        mode: AuditMode,
        legacy: bool,
        batching: Batching,
        bounds: EventSizes | None = None,
        counts: Counts | None = None,
    ) -> None:
        self._mode, self._batching, self._bounds = mode, batching, bounds
        self._throttle = Throttle(batching.rate if mode is AuditMode.BATCH else 0.0, batching.burst, time.monotonic())
        self._encode: Callable[[AuditEvent], bytes] = AuditEvent.legacy if legacy else AuditEvent.line
        self._file = None if path == "-" else RotatedFile(Path(path), keeping)
        self._waiting: deque[Waiting] = deque()
        self._size = 0
        self._changed = threading.Condition()
        self._ending = False
        self._complaints = Complaints("--audit-log-path", counts or Counts())
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._run, name="audit-log", daemon=True)
        self._thread.start()

    async def take(self, event: AuditEvent) -> bool:
        batched = self._mode is AuditMode.BATCH
        future = None if batched else self._loop.create_future()
        with self._changed:
            # in blocking modes the number of requests limits that of events, and no event may be lost
            full = batched and (len(self._waiting) >= self._batching.most or self._size + event.size > MOST_WAITING)
            if not full:
                self._waiting.append((event, future))
                self._size += event.size
                self._changed.notify()
        if full:
            self._complaints.lost(1, "buffered", "too many wait to be written")
            return True
        if future is None:
            return True
        return await future or self._mode is not AuditMode.STRICT

    async def close(self) -> None:
        with self._changed:
            self._ending = True
            self._changed.notify()
        await asyncio.to_thread(self._thread.join, _ENDING)

    def _run(self) -> None:
        pieces.each(self._next, self._work, self._failed)
        if self._file is not None:
            self._file.close()

    def _work(self, batch: Batch) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._ending, self._throttle.delay(time.monotonic()))
        fit, lines = Batch(), list[bytes]()
        for one in batch:
            line = pieces.survive(self._line, one, self._unwritable, None)
            if line is not None:
                fit.append(one)
                lines.append(line)
        self._done(fit, pieces.survive(self._write, b"".join(lines), lambda _, error: self._lost(fit, error), False))

    def _failed(self, batch: Batch, error: Exception) -> None:
        self._lost(batch, error)
        self._done(batch, False)

    def _lost(self, batch: Batch, error: Exception) -> None:
        self._complaints.lost(len(batch), "log", getattr(error, "strerror", None) or type(error).__name__)

    def _done(self, batch: Batch, written: bool) -> None:
        """Ends the wait of the requests of these events; frees the events' place in the queue."""
        with self._changed:
            self._size -= sum(event.size for event, _ in batch)
        told = [future for _, future in batch if future is not None]
        if told:
            self._tell(told, written)

    def _next(self) -> Batch | None:
        """Waits for events; returns those to be written together, None at the end."""
        batching, batched = self._batching, self._mode is AuditMode.BATCH
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._ending)
            if batched and batching.size > 1 and batching.wait:
                self._changed.wait_for(lambda: len(self._waiting) >= batching.size or self._ending, batching.wait)
            most = batching.size if batched and (batching.rate or batching.size > 1) else _AT_ONCE
            return [self._waiting.popleft() for _ in range(min(len(self._waiting), most))] or None

    def _line(self, waiting: Waiting) -> bytes:
        """The line of an event; b"" for one that is too large, which counts as lost but does not fail the request."""
        try:
            return fitting(waiting[0], self._encode, self._bounds)
        except EventTooLarge as error:
            self._complaints.lost(1, "truncate", error)
            return b""

    def _unwritable(self, waiting: Waiting, error: Exception) -> None:
        self._failed([waiting], error)

    def _tell(self, futures: list[asyncio.Future[bool]], written: bool) -> None:
        def tell() -> None:
            for future in futures:
                if not future.done():
                    future.set_result(written)

        try:
            self._loop.call_soon_threadsafe(tell)
        except RuntimeError:
            return  # the loop is closed, so no request waits

    def _write(self, data: bytes) -> bool:
        """Writes lines; returns True. Raises OSError."""
        if self._file is None:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
        else:
            self._file.write(data)
        return True
