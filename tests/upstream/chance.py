"""Runs tests in random order while the machine is busy: what fails then, fails for somebody some day.

    python -m tests.upstream chance --seed 1 [--burners 2] [--stops] [-- PYTEST ARGUMENTS]

--burners are processes that only compute. --stops stops a random program that a test has started, for up to 0.9 s,
again and again: as a machine does that swaps, or is suspended. The exit status is pytest's.
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
        if options.stops:
            threading.Thread(target=stop_some, args=(pytest.pid, random.Random(options.seed)), daemon=True).start()
        return pytest.wait()


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


def stop_some(root: int, chance: random.Random) -> None:
    """Stops programs that pytest or its workers have started, one after the other, and continues each after a while."""
    ended = threading.Event()
    while not ended.wait(chance.expovariate(1 / PAUSE)):
        if not (found := programs(root)):
            continue
        pid = chance.choice(found)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
            ended.wait(chance.uniform(0, LONGEST))
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
