"""Several workers, with and without a cache that they share, serve all control planes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from apiserver_gateway.testing import ApiServer, Cluster, ask, install, wait_for
from apiserver_gateway.testing.clusters import PATH
from apiserver_gateway.testing.connections import Connections, SentRequest
from tests.forked import api_server
from tests.integration.clusters.test_life import MAPS, absent
from tests.integration.clusters.test_serving import WIDGETS, definition, widget
from tests.integration.server.client import ask as raw
from tests.integration.server.test_processes import two_workers
from tests.until import until

NAMESPACES = "/api/v1/namespaces"
MANY = 12
EACH = 6  # requests on connections of their own: the kernel spreads them over the workers


@pytest.fixture(scope="module", params=[(), ("--shared-cache",)], ids=["apart", "shared"])
def server(request: pytest.FixtureRequest) -> Iterator[ApiServer]:
    with api_server("--control-planes", "--workers=2", *request.param) as running:
        until(lambda: raw(running, "GET", PATH).status == 200)
        two_workers(running, without=set())
        yield running


def afresh(cluster: Cluster) -> Cluster:
    """A control plane, with a new connection for the next request."""
    found = Cluster(cluster.server, cluster.name, cluster.token, cluster.kubeconfig)
    found.connections = Connections(f"/clusters/{cluster.name}")
    return found


def test_all_workers_serve_many(server: ApiServer) -> None:
    with server.clusters(MANY) as planes:
        for number, plane in enumerate(planes):
            ask(afresh(plane), "POST", MAPS, {"metadata": {"name": f"of-{number}"}})
        for number, plane in enumerate(planes):
            for _ in range(EACH):
                found = ask(afresh(plane), "GET", MAPS)["items"]
                own = {each["metadata"]["name"] for each in found} - {"kube-root-ca.crt"}
                assert own == {f"of-{number}"}
                assert raw(server, "GET", f"/clusters/{planes[number - 1].name}{MAPS}", token=plane.token).status == 401
    for plane in planes:
        for _ in range(EACH):
            until(lambda plane=plane: absent(server, plane.name))  # type: ignore[misc]
            assert raw(server, "GET", f"/clusters/{plane.name}{MAPS}", token=plane.token).status in (401, 404)


def test_what_one_worker_wrote_the_others_show_at_once(server: ApiServer) -> None:
    with server.cluster() as plane:
        begun = ask(plane, "GET", MAPS)["metadata"]["resourceVersion"]
        watch = SentRequest("GET", f"{MAPS}?watch=true&resourceVersion={begun}", None, plane.token)
        watches = [(place := afresh(plane)).connections.answer(place, watch, 60) for _ in range(EACH)]
        with ExitStack() as stack:
            opened = [stack.enter_context(each) for each in watches]
            ask(afresh(plane), "POST", MAPS, {"metadata": {"name": "told"}})
            for _ in range(EACH):
                assert ask(afresh(plane), "GET", f"{MAPS}/told")["metadata"]["name"] == "told"
            for lines in opened:
                while json.loads(lines.readline())["object"]["metadata"]["name"] != "told":
                    pass  # a controller's ConfigMap


def test_all_workers_serve_its_custom_resources(server: ApiServer) -> None:
    with server.cluster() as plane:
        install(plane, definition("integer"))
        ask(plane, "POST", WIDGETS, widget(1))
        for _ in range(EACH):
            path = f"/clusters/{plane.name}{WIDGETS}/w"
            until(lambda path=path: raw(server, "GET", path, token=plane.token).status == 200)  # type: ignore[misc]


def test_controllers_work_in_all_of_them(server: ApiServer) -> None:
    """Whichever worker gets the write, and whichever one leads."""
    with server.clusters(MANY) as planes:
        for plane in planes:
            ask(afresh(plane), "POST", NAMESPACES, {"metadata": {"name": "team"}})
        for plane in planes:
            wait_for(afresh(plane), f"{NAMESPACES}/team/serviceaccounts/default", bool)
        for plane in planes:
            ask(afresh(plane), "DELETE", f"{NAMESPACES}/team")
        for plane in planes:
            until(lambda plane=plane: gone(plane, f"{NAMESPACES}/team"))  # type: ignore[misc]


def gone(plane: Cluster, path: str) -> bool:
    return raw(plane.server, "GET", f"/clusters/{plane.name}{path}", token=plane.token).status == 404
