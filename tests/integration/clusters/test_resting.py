"""A control plane that rests is loaded for its own users only."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from uuid import uuid4

import pytest

from apiserver_gateway.testing import ApiServer, Cluster, api_server, ask, user, wait_for
from apiserver_gateway.testing.clusters import PATH
from gateway.clusters.definition import ANNOUNCEMENTS
from storage.etcd import EtcdClient, EtcdSettings
from tests.conftest import PATIENCE
from tests.integration.clusters.test_isolation import account_token
from tests.integration.server.client import ask as raw

NAMESPACES = "/api/v1/namespaces"
RESTS = b"the control plane rests"


@pytest.fixture
def resting(server: ApiServer) -> Iterator[Cluster]:
    """A control plane that nobody has used yet."""
    with server.cluster() as made:
        yield made


def rests(server: ApiServer, cluster: Cluster) -> bool:
    """Whether a control plane rests: only then is an anonymous request refused with this text."""
    found = raw(server, "GET", f"/clusters/{cluster.name}{NAMESPACES}", token=None)
    assert found.status == 403
    return RESTS in found.body


TOKENS = (None, "x", "abcdef.0123456789abcdef", "eyJhbGciOiJub25lIn0.e30.", "of the root", "of an account")


@pytest.mark.parametrize("token", TOKENS)
def test_a_request_of_nobody_does_not_wake_it(
    server: ApiServer, resting: Cluster, one: Cluster, token: str | None
) -> None:
    token = {"of the root": server.token, "of an account": account_token(one)}.get(token or "", token)
    found = raw(server, "GET", f"/clusters/{resting.name}{NAMESPACES}", token=token)
    assert found.status == (403 if token is None else 401), found.body
    assert found.json["kind"] == "Status"
    assert rests(server, resting)


def test_its_administrator_wakes_it(server: ApiServer, resting: Cluster) -> None:
    assert rests(server, resting)
    ask(resting, "GET", NAMESPACES)
    assert not rests(server, resting)


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz"])
def test_a_health_check_leaves_it_at_rest(server: ApiServer, resting: Cluster, path: str) -> None:
    assert raw(server, "GET", f"/clusters/{resting.name}{path}", token=None).body == b"ok"
    assert rests(server, resting)


def test_a_visitor_wakes_it(server: ApiServer) -> None:
    name = f"test-{uuid4().hex[:12]}"
    made = {"apiVersion": "apiserver-gateway.dev/v1alpha1", "kind": "ControlPlane", "metadata": {"name": name}}
    ask(server, "POST", PATH, {**made, "spec": {"admins": {"users": ["alice"]}}})
    wait_for(server, f"{PATH}/{name}", lambda obj: (obj.get("status") or {}).get("phase") == "Ready")
    below = f"/clusters/{name}{NAMESPACES}"
    assert raw(server, "GET", below, token=user(server, "bob").token).status == 401
    assert RESTS in raw(server, "GET", below, token=None).body
    assert raw(server, "GET", below, token=user(server, "alice").token).status == 200
    ask(server, "DELETE", f"{PATH}/{name}")


async def forget(endpoint: str, prefix: str) -> None:
    """Removes the announcements of unfinished work, for which the next leader would wake control planes."""
    async with EtcdClient(EtcdSettings(endpoints=(endpoint,), timeout=PATIENCE)) as etcd:
        found = await etcd.prefix(f"{prefix}-clusters/".encode() + ANNOUNCEMENTS, keys_only=True)
        await etcd.write([], [kv.key for kv in found.kvs])


def test_a_service_account_wakes_it_as_long_as_it_exists(etcd_endpoint: str) -> None:
    prefix = f"/rest-{uuid4().hex}"
    flags = "--control-planes", f"--etcd-prefix={prefix}"
    with api_server(*flags, etcd_servers=etcd_endpoint) as server, server.cluster("kept") as cluster:
        account = "/api/v1/namespaces/default/serviceaccounts/other"
        ask(cluster, "POST", account.rpartition("/")[0], {"metadata": {"name": "other"}})
        of_other = str(ask(cluster, "POST", f"{account}/token", {"spec": {}})["status"]["token"])
        of_default = account_token(cluster)
        ask(cluster, "DELETE", account)
        server.stop()
        asyncio.run(forget(etcd_endpoint, prefix))
        server.start()
        cluster.connections.close()
        wait_for(server, f"{PATH}/kept", bool)
        below = f"/clusters/kept{NAMESPACES}"
        assert raw(server, "GET", below, token=of_other).status == 401
        assert rests(server, cluster)
        assert raw(server, "GET", below, token=of_default).status == 403
        assert not rests(server, cluster)
