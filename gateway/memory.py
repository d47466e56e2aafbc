"""Settings of malloc and of the garbage collector that keep the pauses of the event loop short."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import functools
import gc
import time
from collections.abc import Callable

_MMAP_THRESHOLD, _ARENA_MAX, _TRIM_THRESHOLD = -3, -8, -1  # of <malloc.h>
_BIG = 256 * 1024  # bytes; a bigger buffer, as uvloop's for each TLS connection, gets a mapping of its own
# A collection starts after so many new objects that are not freed. The zeros make the second collection cover
# generation 1, and the third generation 2: that one looks at what is left of three times as many objects.
_THRESHOLDS = 6_000, 0, 0
_ALL = 2  # the oldest generation: a collection of it looks at all objects that are not frozen
EVERY = 15.0  # seconds between the checks whether to trim
WORK = 1.0  # seconds of CPU time since the last trim that make another one worthwhile


def settle_malloc() -> None:
    """Makes glibc keep big buffers apart from small ones; by default it stops doing so after a few big ones.

    To be called before there are threads. Does nothing where the C library has no such settings.
    """
    with contextlib.suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        for setting, value in ((_MMAP_THRESHOLD, _BIG), (_TRIM_THRESHOLD, 4 * _BIG), (_ARENA_MAX, 2)):
            mallopt(setting, value)


def settle_collector() -> None:
    """Freezes the objects of the start, and later those that a full collection finds in use. To be called once.

    No collection looks at a frozen object. Objects of the cache, connections and watches have no reference cycles: they
    are freed with their last reference, frozen or not. To look at a million entries takes half a second, and a start
    makes hardly any garbage (a thousand of 70 000 objects). So a collection looks at new objects only: at most some
    18 000, for 5 ms. A loop that is busy nine tenths of the time needs nine times as long to make up for a pause.
    Concurrent writes have a few thousand objects, which start no collection. A cycle that is in use at a full
    collection, and garbage later, is never freed.
    """
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)
    gc.callbacks.append(_leave_out)


def _leave_out(phase: str, info: dict[str, int]) -> None:
    if phase == "stop" and info["generation"] == _ALL:
        gc.freeze()


def trim() -> None:
    """Gives the free memory within the heap back to the kernel. Takes some milliseconds; to be called from a thread."""
    _trim()(0)


async def keep_trimmed(trim: Callable[[], None] = trim) -> None:
    """Trims again and again, if the process has worked since the last time; the start is work too.

    Old versions of objects leave holes among the new ones, which the C library keeps.
    """
    trimmed = 0.0
    while True:
        await asyncio.sleep(EVERY)
        if time.process_time() - trimmed >= WORK:
            trimmed = time.process_time()
            await asyncio.to_thread(trim)


@functools.cache
def _trim() -> Callable[[int], object]:
    try:
        found: Callable[[int], object] = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError):
        return lambda _: None
    return found
