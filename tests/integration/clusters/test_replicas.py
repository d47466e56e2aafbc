"""Two servers on one etcd serve all control planes; one of them makes them, ends them and runs their controllers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from apiserver_gateway.testing import ApiServer, Cluster, ask, condition, install, wait_for
from apiserver_gateway.testing.clusters import PATH, made
from apiserver_gateway.testing.connections import SentRequest
from gateway.clusters.backups import restore_cluster, take_cluster
from gateway.clusters.definition import ANNOUNCEMENTS
from storage.backups.file import verify
from storage.etcd import EtcdClient, EtcdSettings
from tests.conftest import PATIENCE
from tests.forked import api_server
from tests.integration.clusters.test_life import MAPS, absent
from tests.integration.clusters.test_serving import WIDGETS, definition, widget
from tests.integration.server.client import ask as raw
from tests.until import until

NAMESPACES = "/api/v1/namespaces"


@pytest.fixture
def servers(etcd_endpoint: str) -> Iterator[tuple[ApiServer, ApiServer]]:
    """The first one leads."""
    flags = "--control-planes", f"--etcd-prefix=/replicas-{uuid4().hex}"
    with api_server(*flags, etcd_servers=etcd_endpoint) as first:
        until(lambda: raw(first, "GET", PATH).status == 200)
        made(first, "before").delete()  # now it leads
        with api_server(*flags, etcd_servers=etcd_endpoint) as second:
            until(lambda: raw(second, "GET", PATH).status == 200)
            yield first, second


def through(server: ApiServer, cluster: Cluster) -> Cluster:
    """A control plane, reached through another server."""
    return Cluster(server, cluster.name, cluster.token, cluster.kubeconfig)


def reconciled(server: ApiServer) -> bool:
    """Whether controllers have worked in this process."""
    lines = raw(server, "GET", "/metrics").body.decode().splitlines()
    found = [line for line in lines if line.startswith('workqueue_work_duration_seconds_count{name="serviceaccount')]
    return any(float(line.rpartition(" ")[2]) > 0 for line in found)


def event(lines: Any) -> tuple[str, str]:
    found = json.loads(lines.readline())
    return found["type"], found["object"]["metadata"]["name"]


@pytest.mark.parametrize("maker", [0, 1])
def test_each_serves_what_is_done_through_the_other(servers: tuple[ApiServer, ApiServer], maker: int) -> None:
    one = made(servers[maker])
    other = through(servers[1 - maker], one)
    ask(one, "POST", MAPS, {"metadata": {"name": "of-one"}})
    assert ask(other, "GET", f"{MAPS}/of-one")["metadata"]["name"] == "of-one"  # the other one wakes it for this
    begun = ask(one, "GET", MAPS)["metadata"]["resourceVersion"]
    watch = SentRequest("GET", f"{MAPS}?watch=true&resourceVersion={begun}", None, one.token)
    with one.connections.answer(one, watch, 60) as lines:
        ask(other, "POST", MAPS, {"metadata": {"name": "of-other"}})
        assert event(lines) == ("ADDED", "of-other")
        ask(other, "DELETE", f"{MAPS}/of-one")
        assert event(lines) == ("DELETED", "of-one")
        install_through(other)
        assert wait_for(one, f"{WIDGETS}/w", bool)["spec"] == {"size": 1}
        other.delete()
        assert lines.read() == b"", "the watch through the first one ends"
    for server in servers:
        until(lambda server=server: absent(server, one.name))  # type: ignore[misc]
        assert raw(server, "GET", f"/clusters/{one.name}{MAPS}", token=one.token).status == 404


def install_through(cluster: Cluster) -> None:
    """Defines a kind, and makes an object of it once it is served."""
    install(cluster, definition("integer"))
    ask(cluster, "POST", WIDGETS, widget(1))


def test_controllers_run_in_one_of_them(servers: tuple[ApiServer, ApiServer]) -> None:
    """Also in a control plane that only the other one has awake: a change there wakes it where they run."""
    first, second = servers
    cluster = made(second)
    ask(cluster, "POST", NAMESPACES, {"metadata": {"name": "team"}})
    wait_for(cluster, f"{NAMESPACES}/team/serviceaccounts/default", bool)
    wait_for(cluster, f"{NAMESPACES}/team/configmaps/kube-root-ca.crt", bool)
    assert (reconciled(first), reconciled(second)) == (True, False)
    first.stop()  # now the other one leads
    ask(cluster, "POST", NAMESPACES, {"metadata": {"name": "later"}})
    wait_for(cluster, f"{NAMESPACES}/later/serviceaccounts/default", bool)
    assert reconciled(second)
    cluster.delete()
    until(lambda: absent(second, cluster.name))
    made(second).delete()


async def test_both_serve_what_a_restore_brings_back(
    servers: tuple[ApiServer, ApiServer], etcd_endpoint: str, tmp_path: Path
) -> None:
    """Also the one that has the control plane in memory, and does not lead."""
    one = made(servers[0])
    other = through(servers[1], one)
    ask(one, "POST", MAPS, {"metadata": {"name": "kept"}})
    key = await prefix_of(etcd_endpoint, one)
    async with EtcdClient(EtcdSettings(endpoints=(etcd_endpoint,), timeout=PATIENCE)) as etcd:
        await take_cluster(etcd, key, one.name, tmp_path / "f")
        ask(other, "DELETE", f"{MAPS}/kept")
        ask(other, "POST", MAPS, {"metadata": {"name": "later"}})
        await restore_cluster(etcd, key, one.name, tmp_path / "f", verify(tmp_path / "f"))
    for each in (one, other):
        until(lambda each=each: names(each) == {"kept", "kube-root-ca.crt"})  # type: ignore[misc]
    ask(other, "POST", MAPS, {"metadata": {"name": "after"}})
    assert wait_for(one, f"{MAPS}/after", bool)
    one.delete()


def names(cluster: Cluster) -> set[str]:
    """The names of the ConfigMaps; empty while the control plane is being loaded anew."""
    found = raw(cluster.server, "GET", f"/clusters/{cluster.name}{MAPS}", token=cluster.token)
    return {each["metadata"]["name"] for each in found.json["items"]} if found.status == 200 else set()


async def prefix_of(endpoint: str, cluster: Cluster) -> str:
    """The prefix of the keys of the server that has a control plane."""
    name = f"/apiserver-gateway.dev/controlplanes/{cluster.name}".encode()
    async with EtcdClient(EtcdSettings(endpoints=(endpoint,), timeout=PATIENCE)) as etcd:
        found = (await etcd.prefix(b"/replicas-", keys_only=True)).kvs
    return next(kv.key.removesuffix(name).decode() for kv in found if kv.key.endswith(name))


async def test_the_next_leader_ends_what_a_killed_one_has_begun(
    servers: tuple[ApiServer, ApiServer], etcd_endpoint: str
) -> None:
    """No request wakes the control plane there: an announcement in etcd names it, and none names an unchanged one."""
    first, second = servers
    one, untouched = made(first), made(first)
    ask(one, "POST", NAMESPACES, {"metadata": {"name": "team"}})
    ask(one, "POST", f"{NAMESPACES}/team/configmaps", {"metadata": {"name": "held", "finalizers": ["a.b/c"]}})
    ask(one, "DELETE", f"{NAMESPACES}/team")
    prefix = await prefix_of(etcd_endpoint, one)
    first.kill()
    async with EtcdClient(EtcdSettings(endpoints=(etcd_endpoint,), timeout=PATIENCE)) as etcd:
        uids = {each: ask(second, "GET", f"{PATH}/{each.name}")["metadata"]["uid"] for each in (one, untouched)}
        announced = (await etcd.prefix(f"{prefix}-clusters/{ANNOUNCEMENTS.decode()}".encode(), keys_only=True)).kvs
        assert [kv.key.decode().rpartition("/")[2] for kv in announced] == [uids[one]]
        below = f"{prefix}-clusters/{uids[one]}"
        await etcd.write([], [f"{below}/configmaps/team/held".encode()])
        namespace = f"{below}/namespaces/team".encode()
        async with asyncio.timeout(PATIENCE), etcd.watch(namespace) as changes:
            while await etcd.get(namespace) is not None:
                await anext(changes)
    made(second).delete()


async def test_the_next_leader_removes_the_templates_of_those_that_are_gone(
    servers: tuple[ApiServer, ApiServer], etcd_endpoint: str
) -> None:
    """A process that was killed at the wrong moment has left them. A template that is in use stays."""
    first, second = servers
    one = made(first)
    body = {"apiVersion": "apiserver-gateway.dev/v1alpha1", "kind": "ControlPlane", "metadata": {"name": "copy"}}
    ask(first, "POST", PATH, {**body, "spec": {"template": one.name}})
    wait_for(first, f"{PATH}/copy", condition("Ready"))
    root = f"{await prefix_of(etcd_endpoint, one)}-clusters/templates/".encode()
    gone, digest = str(uuid4()).encode(), b"d" * 32
    left = root + b"used/%b/%b" % (gone, digest), root + b"uses/%b/%b" % (digest, gone), root + digest + b"/0000"
    async with EtcdClient(EtcdSettings(endpoints=(etcd_endpoint,), timeout=PATIENCE)) as etcd:
        before = {kv.key for kv in (await etcd.prefix(root, keys_only=True)).kvs}
        await etcd.write([(key, b"") for key in left], [])
        async with asyncio.timeout(PATIENCE), etcd.watch(left[0]) as changes:
            await asyncio.to_thread(first.stop)
            while await etcd.get(left[0]) is not None:
                await anext(changes)
        assert {kv.key for kv in (await etcd.prefix(root, keys_only=True)).kvs} == before
        assert any(b"/used/" in key for key in before)
    for name in ("copy", one.name):
        ask(second, "DELETE", f"{PATH}/{name}")
