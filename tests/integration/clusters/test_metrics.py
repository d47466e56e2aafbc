"""With --control-planes-metrics, control planes have series of their own, which go with them; one counter stays."""

from __future__ import annotations

from typing import Any

from apiserver_gateway.testing import ApiServer, ask, install
from storage.instruments.families import OVERFLOW
from tests.forked import api_server
from tests.hasty import hasty
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


def test_custom_resources_of_control_planes_share_series() -> None:
    """Those beyond a number: whoever may write in a control plane chooses their names."""

    def names(server: ApiServer) -> set[str]:
        lines = raw(server, "GET", "/metrics", headers={"Accept": "text/plain"}).body.decode()
        return {name for name in ("kept", "rest", "root", OVERFLOW) if f'resource="{name}"' in lines}

    with (
        hasty({"storage.instruments.owners.MOST_OF_OTHERS": 1}, "--control-planes") as server,
        server.cluster() as cluster,
    ):
        for place, name in ((cluster, "kept"), (cluster, "rest"), (server, "root")):
            install(place, custom(name))
            ask(place, "GET", f"/apis/{name}.example.com/v1/{name}")
        assert names(server) == {"kept", "root", OVERFLOW}


def custom(plural: str) -> dict[str, Any]:
    """A cluster-scoped kind in a group of its own."""
    schema = {"openAPIV3Schema": {"type": "object"}}
    spec = {
        "group": f"{plural}.example.com",
        "scope": "Cluster",
        "names": {"plural": plural, "kind": plural.capitalize()},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
    }
    meta = {"name": f"{plural}.{plural}.example.com"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": meta,
        "spec": spec,
    }
