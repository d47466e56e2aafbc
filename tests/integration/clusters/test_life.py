"""A control plane is made, lives across restarts, rests, wakes, and leaves nothing when it is deleted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from apiserver_gateway.testing import ApiServer, Refused, api_server, ask, install, wait_for
from apiserver_gateway.testing.clusters import PATH, made
from apiserver_gateway.testing.connections import SentRequest
from storage.etcd import EtcdClient
from tests.integration.clusters.test_serving import WIDGETS, definition, first_event, widget
from tests.until import until

ROOT = b"/registry-clusters/"
MAPS = "/api/v1/namespaces/default/configmaps"


def absent(server: ApiServer, name: str) -> bool:
    try:
        ask(server, "GET", f"{PATH}/{name}")
    except Refused as refused:
        return refused.status == 404
    return False


async def test_a_deletion_removes_all_keys_and_ends_watches(server: ApiServer, etcd: EtcdClient) -> None:
    cluster = made(server, "short")
    uid = ask(server, "GET", f"{PATH}/short")["metadata"]["uid"].encode()
    install(cluster, definition("integer"))
    ask(cluster, "POST", WIDGETS, widget(1))
    assert (await etcd.prefix(ROOT + uid + b"/", count_only=True)).count > 1
    with cluster.connections.answer(
        cluster, SentRequest("GET", f"{MAPS}?watch=true", None, cluster.token), 60
    ) as answered:
        ask(server, "DELETE", f"{PATH}/short")
        answered.read()  # ends
    until(lambda: absent(server, "short"))
    assert (await etcd.prefix(ROOT + uid, count_only=True)).count == 0
    with pytest.raises(Refused, match="not found"):
        ask(server, "GET", "/api/v1/namespaces/kube-system/secrets/control-plane-short")
    with pytest.raises(Refused, match='"short" not found'):
        ask(cluster, "GET", "/api")


async def test_the_part_that_the_objects_are_made_in_is_empty(server: ApiServer, etcd: EtcdClient) -> None:
    with server.cluster():
        assert (await etcd.prefix(ROOT + b"template/", count_only=True)).count == 0


def test_a_new_one_of_the_name_has_nothing_of_the_old_one(server: ApiServer) -> None:
    first = made(server, "again")
    ask(first, "POST", MAPS, {"metadata": {"name": "old"}})
    first.delete()
    until(lambda: absent(server, "again"))
    second = made(server, "again")
    with pytest.raises(Refused, match="not found"):
        ask(second, "GET", f"{MAPS}/old")
    with pytest.raises(Refused, match="Unauthorized"):
        ask(first, "GET", MAPS)
    second.delete()


@pytest.mark.parametrize("name", ["a.b", "a" * 64])
def test_a_name_is_a_label(server: ApiServer, name: str) -> None:
    body = {"apiVersion": "apiserver-gateway.dev/v1alpha1", "kind": "ControlPlane", "metadata": {"name": name}}
    with pytest.raises(Refused, match="the name must be a DNS label"):
        ask(server, "POST", PATH, {**body, "spec": {}})


@pytest.fixture
def alone(etcd_endpoint: str) -> Iterator[ApiServer]:
    """A server that finds its objects again after a restart."""
    prefix = f"--etcd-prefix=/life-{uuid4().hex}"
    with api_server("--control-planes", prefix, etcd_servers=etcd_endpoint) as running:
        yield running


def test_it_lives_across_restarts(alone: ApiServer) -> None:
    with alone.cluster("kept") as cluster:
        install(cluster, definition("integer"))
        ask(cluster, "POST", WIDGETS, widget(1))
        account = "/api/v1/namespaces/default/serviceaccounts/default"
        wait_for(cluster, account, bool)
        token = ask(cluster, "POST", f"{account}/token", {"spec": {}})["status"]["token"]
        before = ask(cluster, "GET", "/api/v1/namespaces")
        alone.stop()
        alone.start()
        cluster.connections.close()
        wait_for(alone, f"{PATH}/kept", bool)
        until(lambda: ask(cluster, "GET", "/version"))
        assert ask(cluster, "GET", "/api/v1/namespaces")["items"] == before["items"]
        assert ask(cluster, "GET", f"{WIDGETS}/w")["spec"] == {"size": 1}
        with pytest.raises(Refused, match="cannot get resource"):
            ask(cluster, "GET", MAPS + "/x", token=token)  # the token is good, and has no rights


def test_a_watch_goes_on_after_a_restart(alone: ApiServer) -> None:
    with alone.cluster("watched") as cluster:
        begun = ask(cluster, "GET", MAPS)["metadata"]["resourceVersion"]
        ask(cluster, "POST", MAPS, {"metadata": {"name": "before"}})
        alone.stop()
        alone.start()
        cluster.connections.close()
        wait_for(alone, f"{PATH}/watched", bool)
        path = f"{MAPS}?watch=true&resourceVersion={begun}&fieldSelector=metadata.name%3Dbefore"
        assert first_event(alone, f"/clusters/watched{path}", cluster.token)["type"] == "ADDED"


def test_without_the_flag_nothing_is_below_clusters(tmp_path: Path) -> None:
    with api_server() as server:
        with pytest.raises(Refused, match="404"):
            ask(server, "GET", "/clusters/one/api")
        with pytest.raises(Refused, match="404"):
            ask(server, "GET", PATH)
