"""A process hangs if it makes no progress in several looks; with any progress it is only slow."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gateway.launch.pulse import LOOKS, Pulse


@contextmanager
def forked(work: Callable[[], object]) -> Iterator[int]:
    """A child process that works for ever. The function waits for its first output."""
    told, tell = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            os.write(tell, b".")
            while True:
                work()
        finally:
            os._exit(1)
    try:
        os.read(told, 1)
        yield pid
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(told)
        os.close(tell)


def looks(pulse: Pulse, pid: int, between: Callable[[], object] = lambda: None) -> bool:
    """Whether the process counts as hanging after the smallest number of checks for which it may."""
    found = False
    for _ in range(LOOKS + 2):
        between()
        found = pulse.hangs(pid)
    return found


def sleeping(pid: int) -> None:
    """Waits until the child sleeps or is stopped; there is no event for it."""
    while True:
        if Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] in "ST":
            return


def test_what_does_not_count_and_does_nothing_hangs() -> None:
    pulse = Pulse()
    pulse.beat()
    with forked(signal.pause) as pid:
        assert looks(pulse, pid, lambda: sleeping(pid))
        pulse.beat()
        assert not pulse.hangs(pid)


def test_a_stopped_process_hangs() -> None:
    pulse = Pulse()
    pulse.beat()
    with forked(lambda: os.kill(os.getpid(), signal.SIGSTOP)) as pid:
        assert looks(pulse, pid, lambda: sleeping(pid))


def test_what_computes_does_not_hang() -> None:
    pulse = Pulse()
    pulse.beat()
    with forked(lambda: None) as pid:
        assert not looks(pulse, pid)


def test_what_has_not_counted_yet_does_not_hang() -> None:
    with forked(signal.pause) as pid:
        assert not looks(Pulse(), pid, lambda: sleeping(pid))


def test_what_counts_does_not_hang() -> None:
    pulse = Pulse()
    with forked(signal.pause) as pid:
        assert not looks(pulse, pid, pulse.beat)


def test_what_cannot_be_looked_at_does_not_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    pulse = Pulse()
    pulse.beat()
    monkeypatch.setattr("gateway.launch.pulse._doing", lambda pid: ("", 0.0))
    with forked(signal.pause) as pid:
        assert not looks(pulse, pid)
