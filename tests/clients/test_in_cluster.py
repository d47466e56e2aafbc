"""Clients in a pod: token, CA and namespace come from files, the server's address from environment variables."""
# mypy: disable-error-code="no-untyped-call"
# (the official client has no types)

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from kubernetes import client as official
from kubernetes.config.incluster_config import InClusterConfigLoader
from lightkube import Client, KubeConfig
from lightkube.resources.core_v1 import ConfigMap

from apiserver_gateway.testing import ApiServer, ask, wait_for
from tests.clients.conftest import _program

MOUNTED = "/var/run/secrets/kubernetes.io/serviceaccount"
AS_A_POD = 'mount -t tmpfs none /run && mkdir -p "$2" && cp "$1"/* "$2" && shift 2 && exec "$@"'


@pytest.fixture
def mounted(
    server: ApiServer, namespace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Path, str]]:
    """The directory that is mounted in a pod of the namespace; its service account may read ConfigMaps."""
    ask(server, "POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
    home = f"/api/v1/namespaces/{namespace}"
    ask(server, "POST", f"{home}/serviceaccounts", {"metadata": {"name": "robot"}})
    spec = {"serviceAccountName": "robot", "containers": [{"name": "c", "image": "i"}]}
    pod = ask(server, "POST", f"{home}/pods", {"metadata": {"name": "here"}, "spec": spec})
    bound = {"apiVersion": "v1", "kind": "Pod", "name": "here", "uid": pod["metadata"]["uid"]}
    asked = {"spec": {"boundObjectRef": bound, "expirationSeconds": 3607}}
    token = ask(server, "POST", f"{home}/serviceaccounts/robot/token", asked)["status"]["token"]
    ask(server, "POST", f"{home}/configmaps", {"metadata": {"name": "one"}})
    group = "rbac.authorization.k8s.io"
    binding = {
        "metadata": {"name": "view"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "view"},
        "subjects": [{"kind": "ServiceAccount", "name": "robot", "namespace": namespace}],
    }
    ask(server, "POST", f"/apis/{group}/v1/namespaces/{namespace}/rolebindings", binding)
    wait_for(server, f"/apis/{group}/v1/clusterroles/view", lambda role: bool(role.get("rules")))  # gathered by then
    (tmp_path / "token").write_text(token)
    (tmp_path / "ca.crt").write_bytes(server.ca_file.read_bytes())
    (tmp_path / "namespace").write_text(namespace)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(server.port))
    yield tmp_path, namespace


def test_kubernetes(server: ApiServer, mounted: tuple[Path, str]) -> None:
    directory, namespace = mounted
    configuration = official.Configuration()
    InClusterConfigLoader(str(directory / "token"), str(directory / "ca.crt")).load_and_set(configuration)
    with official.ApiClient(configuration) as connection:
        core = official.CoreV1Api(connection)
        assert [each.metadata.name for each in core.list_namespaced_config_map(namespace).items] == ["one"]
        with pytest.raises(official.ApiException) as refused:
            core.list_namespaced_secret(namespace)
        assert f"system:serviceaccount:{namespace}:robot" in refused.value.body
        ask(server, "DELETE", f"/api/v1/namespaces/{namespace}/pods/here?gracePeriodSeconds=0")
        with pytest.raises(official.ApiException) as gone:
            core.list_namespaced_config_map(namespace)
        assert gone.value.status == 401  # the token became invalid with its pod


def test_lightkube(mounted: tuple[Path, str]) -> None:
    client = Client(KubeConfig.from_service_account(mounted[0]))
    assert [each.metadata.name for each in client.list(ConfigMap) if each.metadata] == ["one"]


def test_client_go(mounted: tuple[Path, str], home: Path) -> None:
    """kubectl without a kubeconfig uses client-go's rest.InClusterConfig."""
    unshare = shutil.which("unshare")
    alone = [unshare or "", "--mount", "--map-root-user", "sh", "-c", AS_A_POD, "sh", str(mounted[0]), MOUNTED]
    if unshare is None or subprocess.run([*alone, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this needs a mount namespace of its own, with a /run to put files into")
    environment = {name: value for name, value in os.environ.items() if name != "KUBECONFIG"}
    kubectl = [str(_program("kubectl")), "--cache-dir=/run/cache", "get", "configmaps", "-o", "name"]
    done = subprocess.run(
        [*alone, *kubectl],
        env={**environment, "HOME": str(mounted[0])},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("configmap/one\n", "")
