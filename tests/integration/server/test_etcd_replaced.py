"""An empty etcd replaces the one that a server started with: all objects that a start creates are created again."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from apiserver_gateway.testing import ApiServer, api_server
from gateway.credentials.identity import keep, own, seal, shared_key
from gateway.launch.shared_identity import IdentityStore
from gateway.settings.config import Settings
from storage.embedded import EmbeddedEtcd
from storage.etcd import EtcdClient, EtcdSettings
from tests.conftest import PATIENCE
from tests.integration.server.client import ask
from tests.logged import will_log
from tests.until import until

DISCOVERY = "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:discovery"


def made(server: ApiServer) -> bool:
    """Whether the rights of the default roles are in force."""
    jane = {"Impersonate-User": "jane", "Impersonate-Group": "system:authenticated"}
    allowed = ask(server, "GET", "/version", headers=jane)
    return allowed.status == 200 and ask(server, "GET", DISCOVERY).status == 200


def test_default_roles_are_there_again(tmp_path: Path) -> None:
    with EmbeddedEtcd(tmp_path / "etcd") as etcd, api_server(etcd_servers=etcd.endpoint) as server:
        until(lambda: ask(server, "GET", "/readyz").status == 200)
        body = {"metadata": {"name": "gone"}}
        assert ask(server, "POST", "/api/v1/namespaces", body).status == 201
        etcd.kill()
        shutil.rmtree(tmp_path / "etcd" / "member")
        etcd.start()
        until(lambda: ask(server, "GET", "/api/v1/namespaces/gone").status == 404)
        until(lambda: ask(server, "GET", "/readyz").status == 200)
        assert made(server), "ready, and a default role is missing"
        for path in (
            "/api/v1/namespaces/kube-system",
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/cluster-admin",
            "/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system/roles/extension-apiserver-authentication-reader",
            "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/system:discovery",
        ):
            assert ask(server, "GET", path).status == 200, path


def identity_in(etcd: EmbeddedEtcd) -> bytes:
    """The shared identity that is in etcd; empty if there is none."""

    async def get() -> bytes:
        async with EtcdClient(EtcdSettings((etcd.endpoint,), timeout=PATIENCE)) as client:
            found = await client.get(b"/registry/apiserver-gateway/identity")
            return b"" if found is None else found.value

    return asyncio.run(get())


def test_the_shared_identity_is_there_again(tmp_path: Path) -> None:
    """Without it the next replica would make another one."""
    secret = tmp_path / "secret"
    secret.write_text("0123456789abcdef\n")
    flag = f"--identity-key-file={secret}"
    with EmbeddedEtcd(tmp_path / "etcd") as etcd, api_server(flag, etcd_servers=etcd.endpoint) as server:
        until(lambda: ask(server, "GET", "/readyz").status == 200)
        etcd.kill()
        shutil.rmtree(tmp_path / "etcd" / "member")
        etcd.start()
        until(lambda: identity_in(etcd))
        with api_server(flag, etcd_servers=etcd.endpoint) as another:
            assert another.token == server.token and another.ca_file.read_bytes() == server.ca_file.read_bytes()


async def test_another_identity_is_not_replaced_and_told(
    tmp_path: Path, etcd_client: EtcdClient, prefix: bytes
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("0123456789abcdef")
    settings = Settings(
        cert_dir=tmp_path / "mine",
        identity_key_file=secret,
        etcd_prefix=prefix.decode().rstrip("/"),
        etcd_servers=("x",),
    )
    keep(settings.cert_dir, own(settings.cert_dir))
    database = SimpleNamespace(client=etcd_client)
    gateway = SimpleNamespace(
        settings=settings,
        feed=SimpleNamespace(on_replacement=lambda listener: listener()),
        services=SimpleNamespace(database=database),
    )
    other = seal(own(tmp_path / "other"), b"0123456789abcdef")
    await etcd_client.create(shared_key(settings).encode(), other)
    async with will_log("replicas do not share one identity: etcd has the identity of other servers"):
        running = asyncio.create_task(IdentityStore(cast(Any, gateway)).run())
    running.cancel()
    found = await etcd_client.get(shared_key(settings).encode())
    assert found is not None and found.value == other
    secret.unlink()
    async with will_log("the identity of --identity-key-file could not be stored again in etcd"):
        running = asyncio.create_task(IdentityStore(cast(Any, gateway)).run())
    running.cancel()
