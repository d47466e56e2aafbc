"""What the C library does with memory: big buffers go back to the system when they are no longer used."""

from __future__ import annotations

import contextlib
import ctypes
import functools
from collections.abc import Callable

_MMAP_THRESHOLD, _ARENA_MAX, _TRIM_THRESHOLD = -3, -8, -1  # of <malloc.h>
_BIG = 512 * 1024  # bytes from which a buffer is a mapping of its own


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


@functools.cache
def _trim() -> Callable[[int], object]:
    try:
        found: Callable[[int], object] = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError):
        return lambda _: None
    return found
