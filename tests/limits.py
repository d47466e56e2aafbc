"""Limits on time and memory that a busy machine does not break.

A limit on time is what a quiet machine needs at most. On a busy machine more is allowed. The allowance is measured in
the same run: how long the kernel let the test's processes wait for a core, how long the host let the machine's cores
wait, how long processes waited for disks, and the CPU time of a fixed piece of work.

With APISERVER_GATEWAY_LIMITS=FILE each comparison is a line of JSON in that file: the test, what was found as a share
of the limit on a quiet machine, and both in words. .ci/times.py prints the tests that come nearest to their limits.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

FILE = os.environ.get("APISERVER_GATEWAY_LIMITS", "")
_ROUNDS = 5
_PIECES = 40
_LOOP = 3_000
_QUIET = 0.0005  # seconds of CPU that the fixed work takes on a quiet machine; a slower machine is allowed more
_ENOUGH = 0.2  # seconds of CPU: several scheduler time slices


def at_most(found: float, limit: float, words: str = "it took {found:.3f} s, {limit:.3f} s are allowed") -> None:
    """Raises AssertionError if `found` exceeds `limit`. `words` is its message, with both as braces."""
    _judge(found, limit, limit, words)


def at_most_cpu(
    found: float, limit: float, words: str = "it took {found:.3f} s of CPU, {limit:.3f} s are allowed"
) -> None:
    """As `at_most`, for CPU time. A hyper-thread, or an older machine, does less in a CPU second, so it is allowed
    more.

    Garbage collection does not count: it visits all objects that thousands of earlier tests have left in this process.
    """
    allowed = limit
    if found > limit:  # measure the machine's slowness only if it matters: that takes a while
        allowed = limit * max(1.0, slowness()) + COLLECTIONS.seconds
    _judge(found, limit, allowed, words)


def _judge(found: float, limit: float, allowed: float, words: str) -> None:
    """Compares what was found with what is allowed now. `limit` is what is allowed on a quiet machine."""
    note(found, limit, words)
    assert found <= allowed, _told(words, found, allowed)


def note(found: float, limit: float, words: str) -> None:
    """Records what was found beside its limit, for the table at the end of the gate."""
    if FILE and limit > 0:
        test = os.environ.get("PYTEST_CURRENT_TEST", "").partition(" (")[0]
        line = [test, round(found / limit, 3), _told(words, found, limit).partition("\n")[0]]
        with Path(FILE).open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


def _told(words: str, found: float, limit: float) -> str:
    """The message; its plain form if the words hold other braces, such as those of a text that a test is about."""
    try:
        return words.format(found=found, limit=limit)
    except (LookupError, ValueError):
        return f"{words} ({found:.3g} were found, {limit:.3g} are allowed)"


def slowness() -> float:
    """The CPU time of the fixed work now, divided by its time on a quiet machine."""
    return max(_piece() for _ in range(_PIECES)) / _QUIET


def least(measure: Callable[[], float], rounds: int = _ROUNDS) -> float:
    """The least of several measurements: disturbances only add to it."""
    return min(measure() for _ in range(rounds))


class _Collections:
    """The CPU time that this process has used for garbage collection since the test began."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._began: dict[int, float] = {}  # by the threads that collect

    def note(self, phase: str, _: dict[str, int]) -> None:
        """Called before and after each collection."""
        thread = threading.get_ident()
        if phase == "start":
            self._began[thread] = time.thread_time()
        elif thread in self._began:
            self.seconds += time.thread_time() - self._began.pop(thread)


COLLECTIONS = _Collections()
gc.callbacks.append(COLLECTIONS.note)


class Withheld:
    """How long this process and its descendants have been kept waiting by other load since this object was made.

    That is: waits for a core in the kernel, CPU time that the host took away, and waits of any process for a disk.
    """

    def __init__(self) -> None:
        self._before, self._elsewhere = _waited(), stolen() + _disks()

    def until_now(self) -> float:
        """In seconds, summed over all threads."""
        waited = sum(max(0.0, late - self._before.get(task, 0.0)) for task, late in _waited().items())
        return waited + max(0.0, stolen() + _disks() - self._elsewhere)


@contextlib.contextmanager
def within(seconds: float, words: str = "it took {found:.3f} s, {limit:.3f} s are allowed") -> Iterator[None]:
    """Asserts that the block takes at most `seconds`, without the time that was withheld from it."""
    withheld, began = Withheld(), time.monotonic()
    yield
    took, without = time.monotonic() - began, withheld.until_now()
    allowed = seconds + without
    if took > allowed:  # ended processes do not tell any more how long they waited
        allowed += seconds * (crowding() - 1)
    _judge(took - without, seconds, allowed - without, words)


def crowding() -> float:
    """How many times longer work takes now than with a core to itself: 1 or more."""
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
    """How long each thread of this process and of its descendants has waited for a core in its life."""
    found = {}
    for pid in family(os.getpid()):
        with contextlib.suppress(OSError):
            for task in Path(f"/proc/{pid}/task").iterdir():
                with contextlib.suppress(OSError):  # it has just ended
                    found[str(task)] = int((task / "schedstat").read_text(encoding="ascii").split()[1]) / 1e9
    return found


def stolen() -> float:
    """Seconds for which the host did not run this machine's cores, summed; see proc(5), "steal"."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        words = Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()
        return int(words[8]) / os.sysconf("SC_CLK_TCK")
    return 0.0


def _disks() -> float:
    """Seconds in which a process of this machine waited for a disk, if the kernel counts them."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int(Path("/proc/pressure/io").read_text(encoding="ascii").split()[4].removeprefix("total=")) / 1e6
    return 0.0


def family(pid: int) -> list[int]:
    """A process and all its descendants."""
    found = [pid]
    for each in found:
        with contextlib.suppress(OSError):
            for task in Path(f"/proc/{each}/task").iterdir():
                with contextlib.suppress(OSError):
                    found += map(int, (task / "children").read_text(encoding="ascii").split())
    return found
