"""Runs tests in random order while the machine is busy: what fails then, fails for somebody some day.

    python -m tests.upstream chance --seed 1 [--burners 2] [--stops] [-- PYTEST ARGUMENTS]

--burners are processes that only compute. --stops stops a random program that a test has started, for up to 0.9 s,
again and again: as a machine does that swaps, or is suspended. As root it freezes them: a test that stops a program
itself would find it continued otherwise. The exit status is pytest's.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

LONGEST = 0.9  # seconds that a program is stopped
PAUSE = 0.5  # seconds between two stops, on average
BURNER = "while True: pass"
FREEZER = Path("/sys/fs/cgroup/freezer")  # of control groups v1


def main(given: Sequence[str]) -> int:
    """Returns the exit status of pytest."""
    parser = argparse.ArgumentParser(prog="python -m tests.upstream chance", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--burners", type=int, default=0)
    parser.add_argument("--stops", action="store_true")
    parser.add_argument("arguments", nargs="*", help="pytest's arguments, after --")
    options = parser.parse_args(given)
    environment = os.environ | {"APISERVER_GATEWAY_SEED": str(options.seed)}
    command = [sys.executable, "-m", "pytest", "-p", "tests.upstream.shuffled", *options.arguments]
    with burning(options.burners), subprocess.Popen(command, env=environment) as pytest:
        ended, chance = threading.Event(), random.Random(options.seed)
        stopping = threading.Thread(target=stop_some, args=(pytest.pid, chance, ended))
        if options.stops:
            stopping.start()
        try:
            return pytest.wait()
        finally:
            ended.set()
            if options.stops:
                stopping.join()  # nothing stays stopped


@contextlib.contextmanager
def burning(count: int) -> Iterator[None]:
    """Runs processes that only compute inside the block."""
    burners = [subprocess.Popen([sys.executable, "-c", BURNER]) for _ in range(count)]
    try:
        yield
    finally:
        for each in burners:
            each.kill()
            each.wait()


def stop_some(root: int, chance: random.Random, ended: threading.Event) -> None:
    """Stops programs that pytest or its workers have started, one after the other, and continues each after a while."""
    while not ended.wait(chance.expovariate(1 / PAUSE)):
        if not (found := programs(root)):
            continue
        with contextlib.suppress(OSError), stopped(chance.choice(found)):
            ended.wait(chance.uniform(0, LONGEST))


@contextlib.contextmanager
def stopped(pid: int) -> Iterator[None]:
    """A program stands still inside the block. What a test has stopped by a signal stays stopped after it.

    Without a freezer a test that stops the program inside the block finds it continued. Raises OSError if it has ended.
    """
    with frozen(pid) if os.access(FREEZER / "cgroup.procs", os.W_OK) else signalled(pid):
        yield


@contextlib.contextmanager
def frozen(pid: int) -> Iterator[None]:
    """As `stopped`, by the freezer."""
    own = FREEZER / f"chance-{os.getpid()}"
    own.mkdir(exist_ok=True)
    try:
        (own / "cgroup.procs").write_text(f"{pid}", encoding="ascii")
        (own / "freezer.state").write_text("FROZEN", encoding="ascii")
        yield
    finally:
        (own / "freezer.state").write_text("THAWED", encoding="ascii")
        for each in (own / "cgroup.procs").read_text(encoding="ascii").split():
            with contextlib.suppress(OSError):
                (FREEZER / "cgroup.procs").write_text(each, encoding="ascii")
        own.rmdir()


@contextlib.contextmanager
def signalled(pid: int) -> Iterator[None]:
    """As `stopped`, by a signal."""
    runs = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "T"
    if runs:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        if runs:
            os.kill(pid, signal.SIGCONT)


def programs(root: int) -> list[int]:
    """The descendants of pytest and its workers: the servers, etcds and clients of tests."""
    below = [child for worker in children(root) if is_worker(worker) for child in children(worker)]
    found = below or [child for child in children(root) if not is_worker(child)]
    for pid in found:
        found.extend(children(pid))
    return found


def is_worker(pid: int) -> bool:
    """Whether a process is a worker of pytest-xdist."""
    with contextlib.suppress(OSError):
        return b"execnet" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return True


def children(pid: int) -> list[int]:
    """The child processes of each thread of a process."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                found += map(int, (task / "children").read_text(encoding="ascii").split())
    return found
