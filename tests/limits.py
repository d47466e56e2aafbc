"""Limits on time and memory that a busy machine does not break.

A limit on time says what a quiet machine needs at the most. What is allowed is more where the machine is busy, by what
is measured in the same run: for how long the kernel let the test's processes wait for a core, and how much CPU time a
piece of work takes that is always the same.
"""

from __future__ import annotations

import contextlib
import os
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
    """The same for CPU time: a core that two processes share does less in a second, as an older machine does."""
    if found > limit:  # only then does it matter how slow the machine is, which takes a while to find out
        limit *= max(1.0, slowness())
    at_most(found, limit, words)


def slowness() -> float:
    """How much more CPU time the same piece of work takes here and now than on a quiet machine."""
    return max(_piece() for _ in range(_PIECES)) / _QUIET


def least(measure: Callable[[], float], rounds: int = _ROUNDS) -> float:
    """The least that was measured in some rounds: whatever disturbs a measurement only adds to it."""
    return min(measure() for _ in range(rounds))


class Withheld:
    """For how long this process, and all that it has started, has waited for a core since it was made.

    The kernel gave the core to others, or the machine under this one kept it.
    """

    def __init__(self) -> None:
        self._before, self._stolen = _waited(), stolen()

    def until_now(self) -> float:
        """In seconds, of all their threads together."""
        waited = sum(max(0.0, late - self._before.get(task, 0.0)) for task, late in _waited().items())
        return waited + max(0.0, stolen() - self._stolen)


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
    """For how long a machine under this one has kept cores from it, in seconds of all cores; 0 where none tells."""
    with contextlib.suppress(OSError, LookupError), Path("/proc/stat").open(encoding="ascii") as file:
        return int(file.readline().split()[8]) / os.sysconf("SC_CLK_TCK")
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
