"""What a control plane may have: objects, bytes, requests and watches. A refusal is as Kubernetes' own."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import pytest

from apiserver_gateway.testing import ApiServer, Cluster, Refused, api_server, ask, wait_for
from apiserver_gateway.testing.clusters import PATH, made
from tests.integration.clusters.test_life import MAPS
from tests.integration.server.client import ask as raw
from tests.integration.server.client import connect
from tests.until import until


def limit(server: ApiServer, cluster: Cluster, **limits: int) -> None:
    """Changes limits of a control plane, which hold when this returns."""
    path = f"{PATH}/{cluster.name}"
    obj = ask(server, "GET", path)
    obj["spec"]["limits"] = {name: value for name, value in limits.items() if value}
    ask(server, "PUT", path, obj)


def put(cluster: Cluster, name: str, size: int = 1) -> Any:
    return ask(cluster, "POST", MAPS, {"metadata": {"name": name}, "data": {"k": "x" * size}})


def change(cluster: Cluster, name: str, size: int, finalizers: tuple[str, ...] = ()) -> Any:
    body = {"metadata": {"name": name, "finalizers": finalizers}, "data": {"k": "x" * size}}
    return ask(cluster, "PUT", f"{MAPS}/{name}", body)


def count(cluster: Cluster, refused: str) -> int:
    """The number of objects as a refusal tells it."""
    return int(refused.partition("used: objects=")[2].partition(",")[0])


@pytest.fixture
def cluster(server: ApiServer) -> Iterator[Cluster]:
    with server.cluster() as found:
        ask(found, "GET", MAPS)
        yield found


def full(server: ApiServer, cluster: Cluster, room: int) -> None:
    """Leaves room for some objects."""
    limit(server, cluster, objects=1)
    with pytest.raises(Refused, match="used: objects=") as refused:
        put(cluster, "none")
    limit(server, cluster, objects=count(cluster, str(refused.value)) + room)


def test_objects(server: ApiServer, cluster: Cluster) -> None:
    full(server, cluster, 2)
    put(cluster, "one")
    put(cluster, "two")
    with pytest.raises(Refused, match=r"exceeded limit of the control plane, requested: objects=1") as refused:
        put(cluster, "three")
    assert refused.value.status == 403
    change(cluster, "one", 100)
    ask(cluster, "DELETE", f"{MAPS}/one")
    put(cluster, "three")
    limit(server, cluster, objects=0)
    put(cluster, "four")


def test_many_writes_at_once_do_not_pass_it_together(server: ApiServer, cluster: Cluster) -> None:
    full(server, cluster, 5)

    def attempt(number: int) -> int:
        path = f"/clusters/{cluster.name}{MAPS}"
        return raw(server, "POST", path, {"metadata": {"name": f"n{number}"}}, token=cluster.token).status

    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(attempt, range(40)))
    assert (found.count(201), found.count(403)) == (5, 35)


def test_bytes(server: ApiServer, cluster: Cluster) -> None:
    put(cluster, "first", 1000)
    limit(server, cluster, bytes=1)
    with pytest.raises(Refused, match="used: bytes=") as refused:
        put(cluster, "none")
    used = int(str(refused.value).partition("used: bytes=")[2].partition(",")[0])
    limit(server, cluster, bytes=used + 5_000)
    put(cluster, "second", 3_000)
    with pytest.raises(Refused, match=r"403.*exceeded limit of the control plane"):
        put(cluster, "third", 3_000)
    with pytest.raises(Refused, match=r"403.*exceeded limit of the control plane"):
        change(cluster, "first", 4_000)
    change(cluster, "second", 1, ("example.com/kept",))
    limit(server, cluster, bytes=1)
    ask(cluster, "DELETE", f"{MAPS}/second")  # its mark makes it larger, and is never refused
    change(cluster, "second", 1)


def test_watches(server: ApiServer, cluster: Cluster) -> None:
    limit(server, cluster, watches=1)
    path, headers = f"/clusters/{cluster.name}{MAPS}?watch=true", {"Authorization": f"Bearer {cluster.token}"}
    first, second = connect(server), connect(server)
    first.request("GET", path, headers=headers)
    assert first.getresponse().status == 200
    second.request("GET", path, headers=headers)
    answer = second.getresponse()
    assert (answer.status, answer.getheader("retry-after")) == (429, "5")
    answer.read()
    first.close()
    until(lambda: _watches(second, path, headers))
    second.close()


def _watches(connection: Any, path: str, headers: dict[str, str]) -> bool:
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    if answer.status == 429:
        answer.read()
    return bool(answer.status == 200)


def test_requests(server: ApiServer, cluster: Cluster) -> None:
    """One request whose body never ends fills a limit of one."""
    limit(server, cluster, requests=1)
    connection = connect(server)
    connection.putrequest("POST", f"/clusters/{cluster.name}{MAPS}")
    for name, value in (("Authorization", f"Bearer {cluster.token}"), ("Content-Length", "100")):
        connection.putheader(name, value)
    connection.endheaders(b"{")
    path = f"/clusters/{cluster.name}{MAPS}"
    until(lambda: raw(server, "GET", path, token=cluster.token).status == 429)
    connection.close()
    until(lambda: raw(server, "GET", path, token=cluster.token).status == 200)


def test_what_there_is_is_counted_after_a_restart(etcd_endpoint: str) -> None:
    flags = "--control-planes", f"--etcd-prefix=/limits-{uuid4().hex}"
    with api_server(*flags, etcd_servers=etcd_endpoint) as server:
        found = made(server, "kept")
        full(server, found, 1)
        put(found, "one")
        server.stop()
        server.start()
        found.connections.close()
        wait_for(server, f"{PATH}/kept", bool)
        with pytest.raises(Refused, match="exceeded limit of the control plane"):
            put(found, "two")
        ask(found, "DELETE", f"{MAPS}/one")
        put(found, "two")
        found.delete()
