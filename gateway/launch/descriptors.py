"""What the system lets a process have: many file descriptors, since every connection takes one, and no core files."""

from __future__ import annotations

import contextlib
import resource
from pathlib import Path

_NOTHING = "0"  # of the kinds of memory that core(5) lists


def raise_descriptor_limit() -> None:
    """As many descriptors as the system allows; 1024, which many shells set, is few for a server."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def write_no_core_files() -> None:
    """Switches core files off for this process and those that it starts: memory holds secrets.

    The limit concerns files alone; where the system hands cores to a program, there is nothing in them.
    """
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError):
        Path("/proc/self/coredump_filter").write_text(_NOTHING, encoding="ascii")
