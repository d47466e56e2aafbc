"""Programs as processes of a test: run to their end, or running while a test asks them."""

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
    """The process, told to stop at the end; it has to end well, and soon."""
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
    """What the command prints; it has to end with 0."""
    done = subprocess.run(
        command, env={**os.environ, **environment}, cwd=directory, capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def wait_until(check: Callable[[], bool], process: subprocess.Popen[bytes], log: Path) -> None:
    """Asks again and again, as a kubelet and Docker do, until the check succeeds; the process must not end."""
    deadline = time.monotonic() + PATIENCE
    while not check():
        assert process.poll() is None and time.monotonic() < deadline, log.read_text()[-3000:]
        time.sleep(0.1)
