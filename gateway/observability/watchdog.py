"""Detects an event loop that is blocked by a computation on it, or by another thread that holds the GIL.

The loop sets a mark every tenth of a second. A thread checks the mark, and notes the stacks of all threads when it is
late. Time counts only if this process computed, and the loop's thread did not wait for a core. So a busy machine or a
stopped process does not count.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
import threading
import time
from types import FrameType

from gateway.pieces import survive
from storage.instruments import counter, histogram

log = logging.getLogger(__name__)

LIMIT = 0.25  # seconds; a longer block is logged
BEAT = 0.1  # seconds between two marks of the loop
_LOOK = 0.05  # seconds between looks of the thread
_EARLY = 0.6 * LIMIT  # the delay at which the thread notes all stacks: before LIMIT, while the block still lasts
_DEEP, _FLAT = 25, 8  # the most functions logged of the loop's stack, and of another thread's
_IDLE = ("threading.py", "queue.py", "concurrent/futures/thread.py", "selectors.py", "subprocess.py")

_HELD = counter(
    "apiserver_event_loop_held_total",
    "Times that the event loop was blocked for more than 250 ms by this process.",
).labels()
_LAG = histogram(
    "apiserver_event_loop_lag_seconds",
    "Delay of the event loop, measured ten times a second.",
    buckets=(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5),
).labels()
_SECONDS = counter("apiserver_event_loop_held_seconds_total", "Seconds for which the event loop was blocked.").labels()


async def keep_watch(started: asyncio.Event) -> None:
    """Watches the running event loop from `started` on, until it is cancelled."""
    await started.wait()
    watchdog = Watchdog()
    watchdog.start()
    try:
        while True:
            watchdog.beat()
            await asyncio.sleep(BEAT)
    finally:
        watchdog.stop()


def _not_told(_: Watchdog, error: Exception) -> None:
    log.error("the stack of the blocked event loop could not be read", exc_info=error)


class Watchdog:
    """Measures the delay of the loop's marks. `start` and `beat` are called on the loop."""

    def __init__(self) -> None:
        self._at, self._computed, self._waited = time.monotonic(), time.process_time(), 0.0
        self._schedule = -1  # a descriptor of schedstat, which has the loop thread's time of waiting for a core
        self._noted = ""  # the stacks of the threads when the loop was late
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)
        self._loop_thread = 0

    def start(self) -> None:
        """Begins to watch the loop of this thread."""
        self._loop_thread = threading.get_ident()
        with contextlib.suppress(OSError):  # not Linux, or a kernel without schedstat
            self._schedule = os.open(
                f"/proc/self/task/{threading.get_native_id()}/schedstat", os.O_RDONLY | os.O_CLOEXEC
            )
        self._waited = self._withheld()
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread."""
        self._ended.set()
        if self._schedule >= 0:
            os.close(self._schedule)
            self._schedule = -1

    def beat(self) -> None:
        """Sets the mark. Logs and counts if the loop was blocked since the last mark."""
        now, computed, waited = time.monotonic(), time.process_time(), self._withheld()
        held = min(now - self._at - BEAT - (waited - self._waited), computed - self._computed)
        _LAG.observe(max(now - self._at - BEAT, 0.0))
        if held > LIMIT:
            _HELD.inc()
            _SECONDS.inc(held)
            where = self._noted or self._places()
            log.warning("the event loop was blocked", extra={"seconds": round(held, 3), "where": where})
        self._at, self._computed, self._waited, self._noted = now, computed, waited, ""

    def _withheld(self) -> float:
        """Seconds for which the loop's thread was ready to run and had no core."""
        return int(os.pread(self._schedule, 80, 0).split()[1]) / 1e9 if self._schedule >= 0 else 0.0

    def _watch(self) -> None:
        while not self._ended.wait(_LOOK):
            late = time.monotonic() - self._at - BEAT > _EARLY
            if late and not self._noted and time.process_time() - self._computed > _EARLY:  # it was not stopped
                self._noted = survive(Watchdog._places, self, _not_told, "unknown")

    def _places(self) -> str:
        """The stacks of all threads that do not wait, the loop's thread first, each from the innermost function on."""
        names = {each.ident: each.name for each in threading.enumerate()}
        frames = sys._current_frames()
        frames.pop(self._thread.ident or 0, None)
        told = []
        if (own := frames.pop(self._loop_thread, None)) is not None:
            told.append(f"event loop: {_stack(own, _DEEP)}")
        told += [
            f"{names.get(ident, 'a thread')}: {_stack(frame, _FLAT)}"
            for ident, frame in frames.items()
            if not frame.f_code.co_filename.endswith(_IDLE)
        ]
        return "; ".join(told)


def _stack(frame: FrameType | None, most: int) -> str:
    places: list[str] = []
    while frame is not None and len(places) < most:
        code = frame.f_code
        file = "/".join(code.co_filename.rsplit("/", 2)[-2:])
        places.append(f"{code.co_qualname} ({file}:{frame.f_lineno})")
        frame = frame.f_back
    return " < ".join(places)
