"""An empty etcd takes the place of the one that a server began with: all that a start makes is made again."""

from __future__ import annotations

import shutil
from pathlib import Path

from apiserver_gateway.testing import ApiServer, api_server
from storage.embedded import EmbeddedEtcd
from tests.integration.lifecycle.api import until
from tests.integration.server.client import ask

DISCOVERY = "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:discovery"


def made(server: ApiServer) -> bool:
    """Whether everybody may do what the default roles allow."""
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
