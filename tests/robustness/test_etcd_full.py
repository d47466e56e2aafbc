"""A server that starts while etcd is full serves reads and deletions, is not ready, and makes missing objects later."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from apiserver_gateway.testing import api_server
from storage.embedded import EmbeddedEtcd
from storage.errors import NoSpace
from storage.etcd import EtcdClient, EtcdSettings
from tests.integration.server.client import ask
from tests.robustness.trouble import etcdctl
from tests.until import until

ROOM = 4 << 20  # bytes


@pytest.fixture
def small() -> Iterator[EmbeddedEtcd]:
    with EmbeddedEtcd(arguments=[f"--quota-backend-bytes={ROOM}"]) as etcd:
        yield etcd


def fill(etcd: EmbeddedEtcd) -> None:
    """Writes to other keys until etcd raises the alarm NOSPACE."""

    async def filled() -> None:
        async with EtcdClient(EtcdSettings((etcd.endpoint,), timeout=60)) as client:
            with pytest.raises(NoSpace):
                for number in range(100):
                    await client.put(f"/fill/{number % 2}".encode(), b"x" * 1_000_000)

    asyncio.run(filled())


def make_room(etcd: EmbeddedEtcd) -> None:
    """Does what NoSpace.REMEDY tells the operator to do."""

    async def compacted() -> None:
        async with EtcdClient(EtcdSettings((etcd.endpoint,), timeout=60)) as client:
            await client.delete(b"/fill/", b"/fill0")
            await client.compact(await client.revision(), physical=True)

    asyncio.run(compacted())
    etcdctl(etcd, "defrag")
    etcdctl(etcd, "alarm", "disarm")


def test_a_replica_starts(small: EmbeddedEtcd, tmp_path: Path) -> None:
    """The server uses the identity that is stored in etcd. All that needs no write works."""
    secret = tmp_path / "secret"
    secret.write_text("0123456789abcdef0123456789abcdef")
    flag = f"--identity-key-file={secret}"
    with api_server(flag, etcd_servers=small.endpoint) as first:
        until(lambda: ask(first, "GET", "/readyz").status == 200)
        assert ask(first, "POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "a"}}).status == 201
        fill(small)
    with api_server(flag, etcd_servers=small.endpoint) as server:
        assert ask(server, "GET", "/livez").status == 200
        assert ask(server, "GET", "/readyz").status == 500
        until(lambda: b"database space exceeded: compact" in ask(server, "GET", "/readyz/etcd-readiness").body)
        assert ask(server, "GET", "/api/v1/namespaces/default/configmaps/a").status == 200
        assert ask(server, "DELETE", "/api/v1/namespaces/default/configmaps/a").status == 200
        assert ask(server, "POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "b"}}).status == 500
        make_room(small)
        until(lambda: ask(server, "GET", "/readyz").status == 200)


def test_what_could_not_be_made_is_made_later(small: EmbeddedEtcd) -> None:
    fill(small)
    with api_server(etcd_servers=small.endpoint) as server:
        assert ask(server, "GET", "/api/v1/namespaces/default").status == 404
        assert ask(server, "GET", "/livez").status == 200
        assert ask(server, "GET", "/readyz").status == 500
        make_room(small)
        until(lambda: ask(server, "GET", "/readyz").status == 200)
        for path in (
            "/api/v1/namespaces/default",
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/cluster-admin",
            "/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical",
        ):
            assert ask(server, "GET", path).status == 200, path
