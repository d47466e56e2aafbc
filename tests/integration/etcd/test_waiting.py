"""Permanent errors of a connection to etcd (TLS, credentials) are told apart from an etcd that does not run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from storage.embedded import EmbeddedEtcd
from storage.errors import StorageError
from storage.etcd import EtcdClient, EtcdSettings, permanent_errors
from storage.etcd.permanent_errors import hopeless, tls_trouble
from tests.integration.etcd.guarding import certificate, enable_users
from tests.ports import free_ports


@pytest.fixture(scope="module")
def users() -> Iterator[str]:
    with EmbeddedEtcd(loopback=True) as etcd:
        enable_users(etcd)
        yield etcd.endpoint


@pytest.mark.parametrize(
    ("name", "password", "said"),
    [("root", "wrong", "invalid user ID or password"), ("", "", "--etcd-username"), ("poor", "poor", "permission")],
)
async def test_a_refused_user_is_said(users: str, name: str, password: str, said: str) -> None:
    async with EtcdClient(EtcdSettings((users,), username=name, password=password, timeout=60)) as client:
        with pytest.raises(StorageError) as refused:
            await client.range(b"/registry/", b"/registry0")
    assert said in hopeless(refused.value)


async def test_an_etcd_that_is_away_is_waited_for() -> None:
    away = EtcdSettings((f"http://127.0.0.1:{free_ports(1)[0]}",), timeout=0.2)
    async with EtcdClient(away) as client:
        with pytest.raises(StorageError) as refused:
            await client.range(b"/registry/", b"/registry0")
    assert hopeless(refused.value) == "" == await tls_trouble(away)


@pytest.mark.parametrize("endpoint", ["unix:///nowhere/etcd", "unix:/nowhere/etcd", "unix:nowhere"])
async def test_a_socket_in_the_file_system_has_no_tls(endpoint: str, tmp_path: Path) -> None:
    assert await tls_trouble(EtcdSettings((endpoint,), tmp_path / "no-ca.crt")) == ""


async def test_tls_that_does_not_fit_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(permanent_errors, "TIMEOUT", 60.0)
    for name, issuer in (("ca", "ca"), ("server", "ca"), ("stranger", "stranger")):
        certificate(tmp_path, name, issuer)
    ca, stranger, key = (tmp_path / name for name in ("ca.pem", "stranger.pem", "stranger.key"))
    files = {"cert-file": "server.pem", "key-file": "server.key", "trusted-ca-file": "ca.pem"}
    arguments = ["--client-cert-auth", *(f"--{flag}={tmp_path / file}" for flag, file in files.items())]
    with EmbeddedEtcd(arguments=arguments, loopback=True) as etcd, EmbeddedEtcd(loopback=True) as plain:
        for settings, said in (
            (EtcdSettings((etcd.endpoint,), stranger), "is not trusted"),
            (EtcdSettings((etcd.endpoint,), ca), "requires a client certificate"),
            (EtcdSettings((etcd.endpoint,), ca, stranger, key), "refuses the client certificate"),
            (EtcdSettings((etcd.endpoint,), ca, tmp_path / "server.pem", tmp_path / "server.key"), ""),
            (EtcdSettings((etcd.endpoint.replace("https", "http"),)), "speaks TLS"),
            (EtcdSettings((plain.endpoint.replace("http", "https"),), ca), "does not speak TLS"),
            (EtcdSettings((plain.endpoint,)), ""),
            (EtcdSettings((etcd.endpoint, plain.endpoint), stranger), ""),
        ):
            found = await tls_trouble(settings, 60.0 if said else 0.3)  # wait longer if an error is expected
            assert said in found and bool(said) == bool(found), found
