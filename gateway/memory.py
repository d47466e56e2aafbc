"""What the C library and the garbage collector do with memory: neither is to hold the event loop for long."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import functools
import gc
import time
from collections.abc import Callable

_MMAP_THRESHOLD, _ARENA_MAX, _TRIM_THRESHOLD = -3, -8, -1  # of <malloc.h>
_BIG = (
    256 * 1024
)  # bytes from which a buffer is a mapping of its own, as the one that uvloop has for each TLS connection
# Objects made and not freed before a collection; with no collection of the generation below more than one before the
# next of each: the third looks at what three times as many have left.
_THRESHOLDS = 6_000, 0, 0
_ALL = 2  # the oldest generation: a collection of it looks at all that is not left out
EVERY = 15.0  # seconds between looks at whether there may be something to give back
WORK = 1.0  # seconds of CPU time that make it likely


def settle_malloc() -> None:
    """Keeps big buffers apart from small ones; glibc, left alone, stops doing so once it has seen a few of them.

    To be called before there are threads. Does nothing where the C library has no such settings.
    """
    with contextlib.suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        for setting, value in ((_MMAP_THRESHOLD, _BIG), (_TRIM_THRESHOLD, 4 * _BIG), (_ARENA_MAX, 2)):
            mallopt(setting, value)


def settle_collector() -> None:
    """Leaves out of collections what the start made, and what later ones have found in use; to be called once.

    Objects of the cache, connections and watches have no reference circles: they are freed when the last reference
    goes, also those that no collection looks at any more. To look at a million entries takes half a second, and a start
    makes hardly any garbage (a thousand objects of 70 000). So a collection looks at what is new, which is never more
    than some 18 000 objects, for 5 ms: a loop that is busy for nine tenths of the time makes up for a pause only in
    nine times as long. Some writes that are under way at once have a few thousand objects, which are no reason for a
    collection. Circles that were in use in a collection and are garbage later stay.
    """
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)
    gc.callbacks.append(_leave_out)


def _leave_out(phase: str, info: dict[str, int]) -> None:
    if phase == "stop" and info["generation"] == _ALL:
        gc.freeze()


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
