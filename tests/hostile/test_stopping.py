"""A server stops on a signal, whatever a request does. It does not start with flags that it does not serve."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from apiserver_gateway.testing import ApiServer
from tests.hostile.wire import Wire
from tests.limits import Withheld, at_most
from tests.until import until

PATIENCE = 2.0  # seconds until a server that does not stop is killed
LONG = 120.0  # seconds until a server that stops by itself is killed
SOON = 30.0  # seconds in which an idle server stops
COMPUTING = "sum(range(10**12))"  # one C call, during which no other thread and no signal handler runs
SLOW = f"""
import sys
from gateway.discovery.discovery import Discovery
from gateway.commands.cli import main

respond = Discovery.respond

def compute(*given):
    if given[1].path == "/version":
        print("it computes", file=sys.stderr, flush=True)
        {COMPUTING}
    return respond(*given)

Discovery.respond = compute
sys.exit(main(sys.argv[1:]))
"""


WAITING = """
import asyncio, sys
from gateway.discovery.discovery import Discovery
from gateway.launch import process
from gateway.commands.cli import main

process.GRACE = 0.5
respond = Discovery.respond

async def wait():
    print("it waits", file=sys.stderr, flush=True)
    await asyncio.Event().wait()

Discovery.respond = lambda *given: wait() if given[1].path == "/version" else respond(*given)
sys.exit(main(sys.argv[1:]))
"""


class SlowServer(ApiServer):
    """A server whose /version computes for ever or waits for ever."""

    program = SLOW

    def _command(self, control: int) -> list[str]:
        python, _, _, *arguments = super()._command(control)
        return [python, "-c", self.program, *arguments]


@pytest.mark.parametrize("busy", [True, False])
def test_a_server_that_computes_is_stopped_all_the_same(tmp_path: Path, busy: bool) -> None:
    server = SlowServer(tmp_path, [f"--shutdown-timeout={PATIENCE if busy else LONG}s"])
    server.start()
    process = os.pidfd_open(server.pid)
    try:
        if busy:
            wire = Wire(server)
            wire.request("GET /version")
            assert not wire.answers(0.5), "it does not compute"
            until(lambda: "it computes" in server.log_file.read_text())
        withheld, began = Withheld(), time.monotonic()
        os.kill(server.pid, signal.SIGTERM)
        assert select.select([process], [], [], 60)[0], "it goes on"
        took = time.monotonic() - began
        assert took >= PATIENCE or not busy
        if not busy:
            at_most(took, SOON + withheld.until_now())
        assert server.stop() == (-signal.SIGKILL if busy else 0)
        assert (f"the server did not stop within {PATIENCE:g} s, killed" in server.log_file.read_text()) == busy
    finally:
        server.kill()
        os.close(process)


def test_a_request_that_waits_is_given_up(tmp_path: Path) -> None:
    server = SlowServer(tmp_path)
    server.program = WAITING
    server.start()
    with Wire(server) as wire:
        wire.request("GET /version")
        until(lambda: "it waits" in server.log_file.read_text())
        assert not wire.answers(0.5), "it does not wait"
        assert server.stop() == 0
        assert wire.is_closed(), "it is answered"
    logged = server.log_file.read_text()
    assert "requests did not end in time, cancelled requests=1" in logged
    assert "Traceback" not in logged and "Exception in" not in logged


@pytest.mark.parametrize("mode", ["nonsense", "RBAC,nonsense"])
def test_an_authorization_that_is_not_served_is_refused(mode: str) -> None:
    command = [sys.executable, "-m", "gateway", "serve", "--embedded-etcd", f"--authorization-mode={mode}"]
    refused = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert refused.returncode == 1
    assert "is not known; give RBAC, " in refused.stderr
