"""An etcd client with TLS, with client certificates, and as a user with a password whose tokens become invalid."""

from __future__ import annotations

import asyncio
import base64
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from storage.embedded import EmbeddedEtcd
from storage.errors import PermissionDenied, Unauthenticated, Unavailable
from storage.etcd import EtcdClient, EtcdSettings
from tests.conftest import PATIENCE
from tests.integration.crash import lost
from tests.integration.etcd.guarding import mutual_tls, post


async def test_mutual_tls_is_spoken(tmp_path: Path) -> None:
    with mutual_tls(tmp_path) as (etcd, ca, cert, key):
        async with EtcdClient(EtcdSettings((etcd.endpoint,), ca, cert, key, timeout=PATIENCE)) as client:
            assert await client.revision() == 1
        without_scheme = etcd.endpoint.removeprefix("https://")
        async with EtcdClient(EtcdSettings((without_scheme,), ca, cert, key, timeout=PATIENCE)) as client:
            assert await client.revision() == 1
        async with EtcdClient(EtcdSettings((etcd.endpoint,), ca, timeout=0.5)) as stranger:
            with pytest.raises(Unavailable):
                await stranger.revision()


@pytest.fixture
def guarded() -> Iterator[EmbeddedEtcd]:
    """An etcd with the user "gateway", who may read and write /registry/."""
    with EmbeddedEtcd(loopback=True) as etcd:
        bounds = {"key": b"/registry/", "range_end": b"/registry0"}
        permission = {name: base64.b64encode(value).decode() for name, value in bounds.items()}
        for path, body in (
            ("user/add", {"name": "root", "password": "root"}),
            ("user/grant", {"user": "root", "role": "root"}),
            ("user/add", {"name": "gateway", "password": "secret"}),
            ("role/add", {"name": "registry"}),
            ("role/grant", {"name": "registry", "perm": {"permType": "READWRITE", **permission}}),
            ("user/grant", {"user": "gateway", "role": "registry"}),
            ("enable", {}),
        ):
            post(etcd.endpoint, path, body)
        yield etcd


def settings(etcd: EmbeddedEtcd, password: str = "secret") -> EtcdSettings:
    return EtcdSettings((etcd.endpoint,), username="gateway", password=password, timeout=PATIENCE)


async def test_a_user_may_what_its_role_may(guarded: EmbeddedEtcd) -> None:
    async with EtcdClient(settings(guarded)) as client:
        assert (await client.create(b"/registry/a", b"v")).succeeded
        assert await client.revision(b"/registry/") > 0
        async with client.watch(b"/registry/", b"/registry0", start_revision=1) as watch:
            assert (await anext(watch)).events
        with pytest.raises(PermissionDenied):
            await client.put(b"/elsewhere", b"v")
        with pytest.raises(PermissionDenied):
            await client.watch(b"/elsewhere").start()


async def test_a_wrong_password_is_refused(guarded: EmbeddedEtcd) -> None:
    async with EtcdClient(settings(guarded, "wrong")) as client:
        with pytest.raises(Unauthenticated):
            await client.revision(b"/registry/")
        with pytest.raises(Unauthenticated):
            await client.watch(b"/registry/").start()
    async with EtcdClient(EtcdSettings((guarded.endpoint,), timeout=PATIENCE)) as nobody:
        with pytest.raises(Unauthenticated):
            await nobody.revision(b"/registry/")


async def test_a_token_that_etcd_has_forgotten_is_renewed(guarded: EmbeddedEtcd) -> None:
    async with EtcdClient(settings(guarded)) as client:
        await client.put(b"/registry/a", b"1")
        guarded.stop()
        guarded.start()
        await lost(client)
        assert (await client.put(b"/registry/a", b"2")).revision
        guarded.stop()
        guarded.start()
        await lost(client)
        async with client.watch(b"/registry/a", start_revision=1) as watch:
            assert (await anext(watch)).events[-1].kv.value == b"2"


async def test_a_refused_stream_does_not_stay_open(guarded: EmbeddedEtcd) -> None:
    root = post(guarded.endpoint, "authenticate", {"name": "root", "password": "root"})["token"]
    async with EtcdClient(settings(guarded)) as client, client.watch(b"/registry/kept", start_revision=1) as kept:
        for _ in range(3):
            # etcd forgets the tokens of a user whose password changes
            post(guarded.endpoint, "user/changepw", {"name": "gateway", "password": "secret"}, root)
            for own in (True, False):
                async with client.watch(b"/registry/a", start_revision=1, own_stream=own) as watch:
                    await client.put(b"/registry/a", b"1")
                    assert (await anext(watch)).events
        await client.put(b"/registry/kept", b"1")
        assert (await anext(kept)).events, "a watch that etcd has let in goes on"
        async with asyncio.timeout(60):
            while open_streams(guarded.endpoint) > 2:
                await asyncio.sleep(0.02)


def open_streams(endpoint: str) -> int:
    """The number of open watch streams in etcd."""
    with urllib.request.urlopen(f"{endpoint}/metrics", timeout=PATIENCE) as answer:
        metrics = answer.read().decode()
    return int(metrics.partition("\netcd_debugging_mvcc_watch_stream_total ")[2].split()[0])


async def test_a_user_of_an_etcd_without_users_is_let_in(etcd_endpoint: str) -> None:
    named = EtcdSettings((etcd_endpoint,), username="gateway", password="secret", timeout=PATIENCE)
    async with EtcdClient(named) as client:
        assert await client.revision() > 0
