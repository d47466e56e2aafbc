"""Finds child processes that hang: stopped by a signal, or waiting for something in a call that does not return.

A process counts as long as its event loop turns, in memory that its parent sees too. One that does not count any more
hangs if it does nothing else either: what computes, waits for a disk, is traced by a debugger, or cannot be looked at
is only slow. Looks are counted and not seconds, so that a machine that was suspended makes nobody hang.
"""

from __future__ import annotations

import asyncio
import mmap
import os
from collections.abc import Callable
from pathlib import Path
from struct import Struct

BEAT = 1.0  # seconds between counts
LOOK = 5.0  # seconds between looks of the parent
LOOKS = 12  # one after the other in which a process does nothing, until it hangs: a minute
BUSY = 0.05  # seconds of CPU time between two looks that are something
_COUNT = Struct("<Q")
_DOES_NOTHING = frozenset("STI")  # states of proc(5): sleeping, stopped, idle


async def keep_beating(beat: Callable[[], None]) -> None:
    """Tells the parent that the event loop turns, until cancelled."""
    while True:
        beat()
        await asyncio.sleep(BEAT)


class Pulse:
    """Of one child process; to be made before the fork, which both go on with."""

    def __init__(self) -> None:
        self._shared = mmap.mmap(-1, _COUNT.size)
        self._seen, self._computed, self._still = 0, 0.0, 0

    def beat(self) -> None:
        """Counts. To be called by the child."""
        _COUNT.pack_into(self._shared, 0, self._count() + 1)

    def hangs(self, pid: int) -> bool:
        """Whether the child hangs. To be called by the parent every `LOOK` seconds; false before the first count."""
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
    """The state of a process's main thread, and the seconds that all of its threads have computed."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return fields[0], (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return "", 0.0
