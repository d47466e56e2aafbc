"""Runs programs as processes of a test: to their end, or in the background."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

PATIENCE = 90.0


@contextmanager
def running(command: Sequence[str], environment: Mapping[str, str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Starts a process. It is stopped at the end of the block, and must end with 0 and soon."""
    with log.open("ab") as out:
        process = subprocess.Popen(command, env={**os.environ, **environment}, stdout=out, stderr=out, cwd=log.parent)
    try:
        yield process
        process.terminate()
        assert process.wait(60) in (0, -15), log.read_text()[-2000:]
    finally:
        process.kill()
        process.wait()


def run(command: Sequence[str], environment: Mapping[str, str], directory: Path) -> str:
    """Runs a command, which must exit with 0. Returns its output."""
    done = subprocess.run(
        command, env={**os.environ, **environment}, cwd=directory, capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def wait_until(check: Callable[[], bool], process: subprocess.Popen[bytes], log: Path) -> None:
    """Repeats the check until it succeeds, as a kubelet and Docker do. The process must not end."""
    deadline = time.monotonic() + PATIENCE
    while not check():
        assert process.poll() is None and time.monotonic() < deadline, log.read_text()[-3000:]
        time.sleep(0.1)
