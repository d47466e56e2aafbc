"""Whenever and however tests end, their servers end, too: no process, socket or directory is left."""

from __future__ import annotations

import os
import random
import select
import shutil
import signal
import subprocess
import threading
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from apiserver_gateway.testing import ApiServer, api_server, snapshot
from apiserver_gateway.throwaway import new_place
from tests.benchmarks.starting import open_watches
from tests.integration.server.test_processes import cpu_seconds
from tests.integration.testing.leaving import TESTS, run
from tests.limits import at_most, within

KILLS = int(os.environ.get("KILLS", "8"))  # 50 take some minutes


@pytest.fixture(scope="module")
def length(tmp_path_factory: pytest.TempPathFactory) -> float:
    """The seconds that the tests take without interruption; they leave nothing."""
    with run(tmp_path_factory.mktemp("whole")) as found:
        found.says(b"begins")
        began = time.monotonic()
        assert found.process.wait(120) == 0
        taken = time.monotonic() - began
        assert found.left() == []
    return taken


@pytest.mark.parametrize("seed", range(3))
def test_killed_at_a_random_moment(tmp_path: Path, length: float, seed: int) -> None:
    killed(tmp_path, length, seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3, KILLS))
def test_killed_at_many_random_moments(tmp_path: Path, length: float, seed: int) -> None:
    killed(tmp_path, length, seed)


def killed(directory: Path, length: float, seed: int) -> None:
    """Kills a run some time after its start, also while a server starts or stops."""
    with run(directory) as found:
        found.says(b"begins")
        at = random.Random(seed).uniform(0, length)
        timer = threading.Timer(at, found.process.kill)
        timer.start()
        found.process.wait()
        timer.cancel()
        assert found.left() == [], f"killed after {at:.3f} s"


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_broken_off_in_a_fixture(tmp_path: Path, how: signal.Signals) -> None:
    tests = TESTS.replace("        yield\n", "        import time; time.sleep(60)\n        yield\n")  # it is broken off
    with run(tmp_path, tests) as found:
        found.says(b"in the fixture")
        found.process.send_signal(how)
        assert found.left() == []


def test_killed_while_it_removes_what_a_server_has_left(tmp_path: Path) -> None:
    tests = """
import os, time
from apiserver_gateway.testing import api_server, server

def remove(directory):
    os.write(1, b"removes\\n")
    time.sleep(60)

def test_it(monkeypatch):
    monkeypatch.setattr(server, "remove", remove)
    with api_server():
        pass
"""
    with run(tmp_path, tests) as found:
        found.says(b"removes")
        found.process.kill()
        assert found.left() == []


def may_mount() -> bool:
    """Whether a file system can be mounted here: containers and hardened kernels refuse it."""
    words = ["unshare", "-rm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    return shutil.which("unshare") is not None and subprocess.run(words, capture_output=True).returncode == 0


@pytest.mark.skipif(not may_mount(), reason="nothing can be mounted here (unshare -rm)")
def test_out_of_disk(tmp_path: Path) -> None:
    """The disk is full before a server starts, and while one runs."""
    tests = """
import pathlib, pytest, tempfile
from apiserver_gateway.testing import Refused, ServerDidNotStart, api_server, ask

def fill():
    with pytest.raises(OSError), (pathlib.Path(tempfile.gettempdir()) / "filler").open("wb") as filler:
        while True:
            filler.write(bytes(1 << 20))
            filler.flush()

def test_before():
    fill()
    with pytest.raises((ServerDidNotStart, OSError)), api_server():
        pass
    (pathlib.Path(tempfile.gettempdir()) / "filler").unlink()

def test_meanwhile():
    with api_server() as api:
        fill()
        with pytest.raises((Refused, OSError)):
            for number in range(300):
                big = {"metadata": {"name": f"a-{number}"}, "data": {"value": "x" * 500_000}}
                ask(api, "POST", "/api/v1/namespaces/default/configmaps", big)
    (pathlib.Path(tempfile.gettempdir()) / "filler").unlink()
"""
    disk = tmp_path / "disk"
    disk.mkdir()
    inside = [
        "unshare",
        "-rm",
        "sh",
        "-ec",
        'mount -t tmpfs -o size=300m tmpfs "$TMPDIR"; "$@"; find "$TMPDIR" -mindepth 1',
        "-",
    ]
    with run(tmp_path, tests, disk, inside) as found:
        assert found.process.stdout is not None
        said = found.process.stdout.read().decode()
        assert found.left() == [] and "2 passed" in said and not said.rpartition("passed")[2].count("/disk/"), said


def test_killed_before_it_has_read_that_the_server_is_ready() -> None:
    """The kernel resets a socket that is closed with unread bytes."""
    server = ApiServer(new_place(), throw_away=True)
    with server._output() as output:
        server._spawn(output)
    assert server._control is not None and server._process is not None
    assert select.select([server._control], [], [], 60)[0]
    server._control.close()
    server._process.wait(60)
    assert not server.directory.exists()


@pytest.mark.long
def test_a_stop_does_not_wait_for_clients_that_do_not_read() -> None:
    """Nor does it wait for their TLS close_notify, which would take half a second."""
    with api_server() as server, ExitStack() as watches:
        open_watches(server, 20, watches)
        with within(0.4):
            server.stop()


@pytest.mark.long
def test_a_stop_takes_no_time_with_a_thousand_watches() -> None:
    """In CPU time of the server: on a busy machine opening them takes longer, too. A watch is opened in some 1 ms, and
    ended in some 0.1 ms.
    """
    with api_server() as server, ExitStack() as watches:
        snapshot(server)  # waits until controllers are idle
        began, pid = cpu_seconds(server.pid), server.pid
        open_watches(server, 1000, watches)
        snapshot(server)
        before = cpu_seconds(pid)
        stopping = threading.Thread(target=server.stop)
        stopping.start()
        spent = 0.0
        while stopping.is_alive():
            with suppress(OSError, IndexError):  # it has ended
                spent = max(spent, cpu_seconds(pid) - before)
            stopping.join(0.001)
        at_most(spent / (before - began), 0.2, "it took {found:.2f} of what opening them took, {limit} are allowed")
