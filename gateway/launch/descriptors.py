"""Sets resource limits of the process: many file descriptors, as every connection takes one, and no core files."""

from __future__ import annotations

import contextlib
import resource
from pathlib import Path

_NOTHING = "0"  # the bit mask of core(5): no kind of memory is written


def raise_descriptor_limit() -> None:
    """Raises the soft limit of file descriptors to the hard limit; 1024, as many shells set, is few for a server."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def write_no_core_files() -> None:
    """Switches core files off for this process and its children, as memory holds secrets.

    The limit has no effect where the system pipes cores to a program. Such cores are empty, by coredump_filter.
    """
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError):
        Path("/proc/self/coredump_filter").write_text(_NOTHING, encoding="ascii")
