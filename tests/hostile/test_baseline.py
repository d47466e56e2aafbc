"""What the other tests of this folder measure against: ordinary requests hold nobody."""

from __future__ import annotations

from apiserver_gateway.testing import ApiServer
from tests.hostile.probe import held_at_most, memory_returns
from tests.integration.server.client import ask
from tests.until import until

PROBED = {"GET", "namespaces", "resource", "200"}  # values of labels


def test_ordinary_requests_hold_nobody_and_keep_nothing(server: ApiServer) -> None:
    before = probed(server)  # metrics take memory when they are first asked for
    with held_at_most(server, 0.1) as report, memory_returns(server):
        for _ in range(50):
            assert ask(server, "GET", "/api/v1/pods").status == 200
        until(lambda: probed(server) > before + 5)  # it goes on asking
    assert report.count > 5


def probed(server: ApiServer) -> float:
    """How many GETs of a namespace the server has answered, as the probe asks them."""
    lines = ask(server, "GET", "/metrics").body.decode().splitlines()
    found = (line for line in lines if line.startswith("apiserver_request_total{") and set(line.split('"')) >= PROBED)
    return sum(float(line.rpartition(" ")[2]) for line in found)
