"""A worker that fails or hangs is logged and replaced."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from gateway.launch.ports import listen
from tests.ports import free_ports

ROOT = Path(__file__).parents[2]

FAILS_ONCE = """
import logging, os, signal
from pathlib import Path
from gateway.launch import workers

logging.basicConfig(format="%(message)s")
workers.RESTART_PAUSE = 0

def work(ready):
    if not Path("failed").exists():
        Path("failed").touch()
        raise RuntimeError("once")
    os.kill(os.getppid(), signal.SIGTERM)
    signal.pause()

raise SystemExit(workers.Supervisor(1, work).run(lambda: None))
"""

HANGS_ONCE = """
import logging, os, signal
from pathlib import Path
from gateway.launch import pulse, workers

logging.basicConfig(format="%(message)s")
workers.RESTART_PAUSE = 0
pulse.LOOK, pulse.LOOKS = 0.01, 3

def work(parent):
    parent.ready()
    if not Path("hung").exists():
        Path("hung").touch()
        parent.beat()
        os.kill(os.getpid(), signal.SIGSTOP)
    os.kill(os.getppid(), signal.SIGTERM)
    signal.pause()

raise SystemExit(workers.Supervisor(1, work).run(lambda: None))
"""


REPLACED = """
import os, signal
from gateway.launch import workers

workers.RESTART_PAUSE = 0

def work(parent):
    with open("others", "a") as said:
        said.write(f"{parent.others} ")
    if not parent.others:
        parent.ready()
        signal.pause()  # until the parent has heard of it
    os.kill(os.getppid(), signal.SIGTERM)
    signal.pause()

def ready():
    os.kill(next(iter(supervisor._started)), signal.SIGKILL)

supervisor = workers.Supervisor(1, work)
raise SystemExit(supervisor.run(ready))
"""

OUTLIVES_ITS_PARENT = """
import os, signal, sys
from gateway.launch import workers
from gateway.launch.ports import listen

def work(parent):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.kill(os.getppid(), signal.SIGKILL)
    return len(sys.stdin.read())

with listen("127.0.0.1", PORT, shared=True) as listening:
    workers.Supervisor(1, work, leave=listening.leave).run(lambda: None)
"""


def said_by(program: str, directory: Path) -> tuple[int, list[str]]:
    command = [sys.executable, "-c", f"import sys; sys.path[:0] = [{str(ROOT)!r}]\n{program}"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, cwd=directory)
    lines = ran.stderr.splitlines()
    return ran.returncode, [line for line in lines if not line.startswith((" ", "Traceback", "not ready yet"))]


def test_a_worker_that_hangs_is_replaced(tmp_path: Path) -> None:
    said = ["worker hangs, killing it", "worker ended, starting another"]
    assert said_by(HANGS_ONCE, tmp_path) == (0, said)


def test_who_takes_the_place_of_a_ready_worker_knows_that(tmp_path: Path) -> None:
    """Until the new worker is ready, it leaves new connections to the other workers of the port."""
    assert said_by(REPLACED, tmp_path)[0] == 0
    assert (tmp_path / "others").read_text() == "False True "


def test_a_worker_that_fails_is_replaced(tmp_path: Path) -> None:
    said = ["worker failed", "RuntimeError: once", "worker ended, starting another"]
    assert said_by(FAILS_ONCE, tmp_path) == (0, said)


def test_the_port_is_free_when_the_parent_was_killed() -> None:
    """Its workers may still answer their last requests."""
    port = free_ports(1)[0]
    program = f"import sys; sys.path[:0] = [{str(ROOT)!r}]\n{OUTLIVES_ITS_PARENT.replace('PORT', str(port))}"
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE) as server:
        assert server.wait() == -signal.SIGKILL
        with listen("127.0.0.1", port, shared=True) as listening:
            assert listening.port == port
        assert server.stdin is not None
        server.stdin.close()
