"""With --control-planes-metrics, control planes have series of their own, which go with them; one counter stays."""

from __future__ import annotations

from apiserver_gateway.testing import ApiServer, ask
from tests.forked import api_server
from tests.integration.server.client import ask as raw
from tests.until import until


def series(server: ApiServer) -> dict[str, str]:
    lines = raw(server, "GET", "/metrics", headers={"Accept": "text/plain"}).body.decode().splitlines()
    return dict(each.rsplit(" ", 1) for each in lines if each.startswith("control_plane_"))


def test_a_control_plane_has_series_of_its_own() -> None:
    with api_server("--control-planes", "--control-planes-metrics=1") as server:
        with server.cluster("first") as first, server.cluster("second") as second:
            for cluster, number in ((first, 3), (second, 5)):
                for _ in range(number):
                    ask(cluster, "GET", "/api")
            found = series(server)
            assert found['control_plane_requests_total{control_plane="first"}'] == "3"
            assert found['control_plane_requests_total{control_plane=""}'] == "5"
            assert found['control_plane_awake{control_plane="first"}'] == "1"
            assert not any("second" in name for name in found)
        until(lambda: series(server) == {'control_plane_requests_total{control_plane=""}': "5"})
