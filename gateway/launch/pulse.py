"""Finds child processes that hang: they are stopped by a signal, or wait in a call that does not return.

A child increases a counter in shared memory while its event loop runs. The parent looks at the counter and at the
state of the process. A child hangs if neither the counter nor its CPU time grows for LOOKS looks. A child that
computes, waits for a disk, is traced by a debugger, or whose state cannot be read counts as slow only. The limit is a
number of looks, not of seconds: so no child counts as hanging after the machine was suspended.
"""

from __future__ import annotations

import asyncio
import mmap
import os
from collections.abc import Callable
from pathlib import Path
from struct import Struct

BEAT = 1.0  # seconds between two increments of the counter
LOOK = 5.0  # seconds between looks of the parent
LOOKS = 12  # looks in a row at an idle process until it counts as hanging: a minute
BUSY = 0.05  # seconds of CPU time between two looks; a process with more is not idle
_COUNT = Struct("<Q")
_DOES_NOTHING = frozenset("STI")  # states of proc(5): sleeping, stopped, idle


async def keep_beating(beat: Callable[[], None]) -> None:
    """Calls `beat` every BEAT seconds until cancelled: a sign for the parent that the event loop runs."""
    while True:
        beat()
        await asyncio.sleep(BEAT)


class Pulse:
    """The counter of one child process. To be made before the fork: parent and child share its memory."""

    def __init__(self) -> None:
        self._shared = mmap.mmap(-1, _COUNT.size)
        self._seen, self._computed, self._still = 0, 0.0, 0

    def beat(self) -> None:
        """Increases the counter. To be called by the child."""
        _COUNT.pack_into(self._shared, 0, self._count() + 1)

    def hangs(self, pid: int) -> bool:
        """Whether the child hangs; false before its first beat. To be called by the parent every `LOOK` seconds."""
        count, (state, computed) = self._count(), _doing(pid)
        worked = computed - self._computed > BUSY or state not in _DOES_NOTHING
        self._still = 0 if worked or count != self._seen or not count else self._still + 1
        self._seen, self._computed = count, computed
        return self._still >= LOOKS

    def close(self) -> None:
        """Frees the memory, once the child has ended."""
        self._shared.close()

    def _count(self) -> int:
        found: int = _COUNT.unpack_from(self._shared)[0]
        return found


def _doing(pid: int) -> tuple[str, float]:
    """The state of a process's main thread (a letter of proc(5), "" if unknown), and the CPU seconds of all threads."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return fields[0], (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return "", 0.0
