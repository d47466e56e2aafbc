"""The probe does not report less than what a server holds, on a busy machine either."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from apiserver_gateway.testing import ApiServer
from storage.embedded import EmbeddedEtcd
from tests.hostile.probe import held_for, probing
from tests.integration.server.client import ask

HOLD = 0.5  # seconds of CPU
_PROGRAM = f"""
import signal, sys, time
from gateway.commands.cli import main

def hold(*_):
    until = time.thread_time() + {HOLD}
    while time.thread_time() < until:
        pow(3, 1 << 2000, (1 << 20000) - 1)  # C code that holds the GIL

signal.signal(signal.SIGUSR2, hold)
sys.exit(main(sys.argv[1:]))
"""


class HoldingServer(ApiServer):
    """A server whose event loop computes for `HOLD` seconds when it gets SIGUSR2."""

    def _command(self, control: int) -> list[str]:
        words = super()._command(control)
        return [sys.executable, "-c", _PROGRAM, *words[words.index("serve") :]]


@pytest.fixture(scope="module")
def holding(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HoldingServer]:
    """The server, started."""
    with EmbeddedEtcd() as etcd:
        server = HoldingServer(tmp_path_factory.mktemp("holding"), (), etcd.endpoint)
        server.start()
        yield server
        server.stop()


def test_a_wait_counts_as_far_as_the_server_computes() -> None:
    assert held_for(2.0, 0.0, {1: 5.0}, {1: 5.25}) == 0.25, "the machine was busy"
    assert held_for(0.5, 0.0, {1: 5.0}, {1: 7.0}) == 0.5, "it used two cores"


def test_only_the_waits_of_the_client_are_taken_off() -> None:
    assert held_for(2.0, 0.5, {1: 5.0}, {1: 7.0}) == 1.5
    assert held_for(2.0, 3.0, {1: 5.0}, {1: 7.0}) == 0.0


def test_processes_that_compute_beside_each_other_do_not_add_up() -> None:
    assert held_for(2.0, 0.0, {1: 1.0, 2: 1.0}, {1: 1.25, 2: 1.5, 3: 0.25}) == 0.5


@pytest.mark.holds_the_loop("the probe has to see it")
@pytest.mark.parametrize("crowd", [0, 6])
def test_a_server_that_is_held_is_reported(holding: HoldingServer, crowd: int) -> None:
    """Processes that compute beside it take its cores away; they must not make it look idle."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(crowd)]
    try:
        with probing(holding) as report:
            os.kill(holding.pid, signal.SIGUSR2)
            assert ask(holding, "GET", "/version").status == 200  # it is answered after the signal
            assert ask(holding, "GET", "/version").status == 200
    finally:
        for each in busy:
            each.kill()
            each.wait()
    assert report.failures == 0
    assert report.worst > HOLD / 2, report  # the GET may have come when a part of it was over
