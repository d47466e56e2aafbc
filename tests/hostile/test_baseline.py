"""What the other tests of this folder measure against: ordinary requests hold nobody."""

from __future__ import annotations

from apiserver_gateway.testing import ApiServer
from tests.hostile.probe import held_at_most, memory_returns
from tests.integration.server.client import ask


def test_ordinary_requests_hold_nobody_and_keep_nothing(server: ApiServer) -> None:
    with held_at_most(server, 0.1) as report, memory_returns(server):
        for _ in range(50):
            assert ask(server, "GET", "/api/v1/pods").status == 200
    assert report.count > 5
