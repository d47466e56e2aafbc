"""What the C library does with memory: what is no longer used goes back to the system."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import functools
import time
from collections.abc import Callable

_MMAP_THRESHOLD, _ARENA_MAX, _TRIM_THRESHOLD = -3, -8, -1  # of <malloc.h>
_BIG = 512 * 1024  # bytes from which a buffer is a mapping of its own
EVERY = 15.0  # seconds between looks at whether there may be something to give back
WORK = 1.0  # seconds of CPU time that make it likely


def settle_malloc() -> None:
    """Keeps big buffers apart from small ones; glibc, left alone, stops doing so once it has seen a few of them.

    To be called before there are threads. Does nothing where the C library has no such settings.
    """
    with contextlib.suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        for setting, value in ((_MMAP_THRESHOLD, _BIG), (_TRIM_THRESHOLD, 2 * _BIG), (_ARENA_MAX, 2)):
            mallopt(setting, value)


def trim() -> None:
    """Gives back what is free within the heap. Takes some milliseconds; to be called from a thread."""
    _trim()(0)


async def keep_trimmed(trim: Callable[[], None] = trim) -> None:
    """Trims where there was work since the last time, the start included: old versions of objects leave holes among the
    new ones, which the C library keeps.
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
