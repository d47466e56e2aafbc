"""Where events go: what takes them, and how many may wait. No sink holds the event loop."""

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

from gateway.audit.event import Event
from gateway.audit.rotation import Keeping, RotatedFile

logger = logging.getLogger(__name__)

MOST_WAITING = 64 << 20  # bytes of events that wait to be written
_PATIENCE = 10.0  # seconds between complaints
_AT_ONCE = 400  # events that are written together
_ENDING = 5.0  # seconds that the last events have


class Mode(StrEnum):
    """Whether requests wait for their events: not at all, or until these are kept; strictly: or they fail."""

    BATCH = "batch"
    BLOCKING = "blocking"
    STRICT = "blocking-strict"


class Sink(Protocol):
    """Takes events."""

    async def take(self, event: Event) -> bool:
        """False where the request may not go on because its event could not be kept."""
        ...

    async def close(self) -> None:
        """Writes what waits."""
        ...


class Complaints:
    """Log lines about events that are lost, no more than one in a while."""

    def __init__(self, what: str) -> None:
        self._what, self._lost, self._last = what, 0, float("-inf")

    def lost(self, count: int, reason: object) -> None:
        """Says so. Nothing of an event is said: it may hold secrets."""
        self._lost += count
        if time.monotonic() - self._last >= _PATIENCE:
            self._last = time.monotonic()
            logger.error("%s: %d audit events lost: %s", self._what, self._lost, reason)
            self._lost = 0


class LogSink:
    """Writes events as lines, in a thread of its own, to a file or standard output ("-")."""

    def __init__(self, path: str, keeping: Keeping, mode: Mode, legacy: bool, most: int) -> None:
        self._mode, self._most = mode, most
        self._encode: Callable[[Event], bytes] = Event.legacy if legacy else Event.line
        self._file = None if path == "-" else RotatedFile(Path(path), keeping)
        self._waiting: deque[tuple[Event, asyncio.Future[bool] | None]] = deque()
        self._size = 0
        self._changed = threading.Condition()
        self._ending = False
        self._complaints = Complaints("--audit-log-path")
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._run, name="audit-log", daemon=True)
        self._thread.start()

    async def take(self, event: Event) -> bool:
        blocking = self._mode is not Mode.BATCH
        future = self._loop.create_future() if blocking else None
        with self._changed:
            full = len(self._waiting) >= self._most or self._size + event.size > MOST_WAITING
            if not full:
                self._waiting.append((event, future))
                self._size += event.size
                self._changed.notify()
        if full:
            self._complaints.lost(1, "too many wait to be written")
            return self._mode is not Mode.STRICT
        if future is None:
            return True
        return await future or self._mode is not Mode.STRICT

    async def close(self) -> None:
        with self._changed:
            self._ending = True
            self._changed.notify()
        await asyncio.to_thread(self._thread.join, _ENDING)

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self._ending:
                    self._changed.wait()
                if not self._waiting:
                    break
                batch = [self._waiting.popleft() for _ in range(min(len(self._waiting), _AT_ONCE))]
            try:
                self._write(b"".join([self._encode(event) for event, _ in batch]))
                written = True
            except (OSError, ValueError) as error:
                written = False
                self._complaints.lost(len(batch), getattr(error, "strerror", None) or type(error).__name__)
            with self._changed:
                self._size -= sum(event.size for event, _ in batch)
            told = [future for _, future in batch if future is not None]
            if told:
                self._tell(told, written)
        if self._file is not None:
            self._file.close()

    def _tell(self, futures: list[asyncio.Future[bool]], written: bool) -> None:
        def tell() -> None:
            for future in futures:
                if not future.done():
                    future.set_result(written)

        try:
            self._loop.call_soon_threadsafe(tell)
        except RuntimeError:
            return  # the loop is closed: nobody waits any more

    def _write(self, data: bytes) -> None:
        if self._file is None:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
        else:
            self._file.write(data)
