"""The reference for the other tests in this folder: ordinary requests do not delay others."""

from __future__ import annotations

from apiserver_gateway.testing import ApiServer
from tests.hostile.probe import held_at_most, memory_returns
from tests.integration.server.client import ask
from tests.until import until

PROBED = {"GET", "namespaces", "resource", "200"}  # values of labels


def test_ordinary_requests_hold_nobody_and_keep_nothing(server: ApiServer) -> None:
    before = probed(server)  # the first request makes the metrics, which takes memory
    with held_at_most(server, 0.1) as report, memory_returns(server):
        for _ in range(50):
            assert ask(server, "GET", "/api/v1/pods").status == 200
        until(lambda: probed(server) > before + 5)  # the probe is still asking
    assert report.count > 5


def probed(server: ApiServer) -> float:
    """How many GETs of a namespace, as the probe sends them, the server has answered."""
    lines = ask(server, "GET", "/metrics").body.decode().splitlines()
    found = (line for line in lines if line.startswith("apiserver_request_total{") and set(line.split('"')) >= PROBED)
    return sum(float(line.rpartition(" ")[2]) for line in found)
