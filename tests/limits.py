"""Limits on time and memory that a busy machine does not break.

A limit on time says what a quiet machine needs at the most. What is allowed is more where the machine is busy, by what
is measured in the same run: for how long the kernel let the test's processes wait for a core, for how long the host let
the machine's cores wait, and the disks all that write, and how much CPU time a piece of work takes that is always the
same.
"""

from __future__ import annotations

import contextlib
import gc
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

_ROUNDS = 5
_PIECES = 40
_LOOP = 3_000
_QUIET = 0.0005  # seconds of CPU that the piece of work takes where nothing else runs; a slower machine is allowed more
_ENOUGH = 0.2  # seconds of CPU: several times of what the kernel lets a process have at one go


def at_most(found: float, limit: float, words: str = "it took {found:.3f} s, {limit:.3f} s are allowed") -> None:
    """Raises AssertionError where `found` exceeds `limit`; `words` say so, with both in braces."""
    assert found <= limit, words.format(found=found, limit=limit)


def at_most_cpu(
    found: float, limit: float, words: str = "it took {found:.3f} s of CPU, {limit:.3f} s are allowed"
) -> None:
    """The same for CPU time: a core that two processes share does less in a second, as an older machine does.

    The collector of garbage does not count: it looks at all that thousands of tests before have left in this process.
    """
    if found > limit:  # only then does it matter how slow the machine is, which takes a while to find out
        limit = limit * max(1.0, slowness()) + COLLECTIONS.seconds
    at_most(found, limit, words)


def slowness() -> float:
    """How much more CPU time the same piece of work takes here and now than on a quiet machine."""
    return max(_piece() for _ in range(_PIECES)) / _QUIET


def least(measure: Callable[[], float], rounds: int = _ROUNDS) -> float:
    """The least that was measured in some rounds: whatever disturbs a measurement only adds to it."""
    return min(measure() for _ in range(rounds))


class _Collections:
    """How much CPU time this process has used for collecting garbage since the test began."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._began: dict[int, float] = {}  # by the threads that collect

    def note(self, phase: str, _: dict[str, int]) -> None:
        """Is called before and after each."""
        thread = threading.get_ident()
        if phase == "start":
            self._began[thread] = time.thread_time()
        elif thread in self._began:
            self.seconds += time.thread_time() - self._began.pop(thread)


COLLECTIONS = _Collections()
gc.callbacks.append(COLLECTIONS.note)


class Withheld:
    """For how long this process, and all that it has started, have waited since it was made for what others use.

    That is the time in which the kernel let them wait for a core, in which the host of this machine let its cores wait,
    and in which anybody on it waited for a disk.
    """

    def __init__(self) -> None:
        self._before, self._elsewhere = _waited(), stolen() + _disks()

    def until_now(self) -> float:
        """In seconds, of all their threads together."""
        waited = sum(max(0.0, late - self._before.get(task, 0.0)) for task, late in _waited().items())
        return waited + max(0.0, stolen() + _disks() - self._elsewhere)


@contextlib.contextmanager
def within(seconds: float, words: str = "it took {found:.3f} s, {limit:.3f} s are allowed") -> Iterator[None]:
    """Asserts that the block takes at most so long, beside what was withheld from it."""
    withheld, began = Withheld(), time.monotonic()
    yield
    took = time.monotonic() - began
    allowed = seconds + withheld.until_now()
    if took > allowed:  # what has ended meanwhile does not say any more for how long it waited
        allowed += seconds * (crowding() - 1)
    at_most(took, allowed, words)


def crowding() -> float:
    """How much longer the same work takes here and now than it would with a core to itself: 1 or more."""
    began, used = time.monotonic(), time.thread_time()
    while time.thread_time() - used < _ENOUGH:
        _piece()
    return max(1.0, (time.monotonic() - began) / (time.thread_time() - used))


def _piece() -> float:
    began = time.thread_time()
    found: dict[int, str] = {}
    for number in range(_LOOP):
        found[number % 97] = f"{number}"
    return time.thread_time() - began


def _waited() -> dict[str, float]:
    """How long each thread of this process, and of those below it, has waited for a core in its life."""
    found = {}
    for pid in family(os.getpid()):
        with contextlib.suppress(OSError):
            for task in Path(f"/proc/{pid}/task").iterdir():
                with contextlib.suppress(OSError):  # it has just ended
                    found[str(task)] = int((task / "schedstat").read_text(encoding="ascii").split()[1]) / 1e9
    return found


def stolen() -> float:
    """Seconds for which the host has not let this machine's cores run, all of them together; see proc(5)."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        words = Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()
        return int(words[8]) / os.sysconf("SC_CLK_TCK")
    return 0.0


def _disks() -> float:
    """Seconds in which something on this machine waited for a disk, where the kernel counts them."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int(Path("/proc/pressure/io").read_text(encoding="ascii").split()[4].removeprefix("total=")) / 1e6
    return 0.0


def family(pid: int) -> list[int]:
    """A process, and all that it has started, directly or not."""
    found = [pid]
    for each in found:
        with contextlib.suppress(OSError):
            for task in Path(f"/proc/{each}/task").iterdir():
                with contextlib.suppress(OSError):
                    found += map(int, (task / "children").read_text(encoding="ascii").split())
    return found
