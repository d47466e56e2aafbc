"""kubectl with extension API servers behind the gateway: Kubernetes' sample-apiserver and a stub of metrics-server."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer
from tests.clients.command import Kubectl
from tests.clients.conftest import _program
from tests.clients.extension_servers import GROUP, HOME, METRICS, api_service, listed, metrics, service, wardle
from tests.until import until

VERSION = f"{GROUP}/v1beta1"


@pytest.fixture(scope="module")
def sample(server: ApiServer, home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    administrator = Kubectl(_program("kubectl"), server.kubeconfig, home, "")
    with wardle(server, administrator, tmp_path_factory.mktemp("wardle")):
        yield administrator
    for version in ("v1alpha1", "v1beta1"):
        administrator("delete", "apiservice", f"{version}.{GROUP}")


def flunder(name: str, **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": VERSION, "kind": "Flunder", "metadata": {"name": name, **metadata}, "spec": {}}


def test_its_objects_are_made_changed_and_deleted(sample: Kubectl, kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=flunder("a"))
    kubectl("apply", "--server-side", "-f", "-", given=flunder("b", labels={"made": "by-apply"}))
    assert kubectl.names("flunders") == [f"flunder.{GROUP}/a", f"flunder.{GROUP}/b"]
    assert kubectl.names("flunders", "-l", "made=by-apply") == [f"flunder.{GROUP}/b"]
    kubectl("label", "flunder", "a", "size=small")
    kubectl(
        "patch", "flunder", "a", "--type=merge", "-p", '{"spec":{"flunderReference":"b","referenceType":"Flunder"}}'
    )
    assert kubectl.get("flunder", "a")["spec"]["flunderReference"] == "b"
    assert "applied" in kubectl("apply", "--server-side", "-f", "-", given=flunder("b", labels={"made": "again"}))
    assert "conflict" in kubectl.run("replace", "-f", "-", given=flunder("b", resourceVersion="1")).stderr.lower()
    kubectl("delete", "flunders", "--all")
    assert kubectl.names("flunders") == []


def test_its_objects_are_watched(sample: Kubectl, kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=flunder("seen"))
    with kubectl.running("get", "flunders", "--watch", "-o", "name") as watching:
        assert watching.stdout is not None
        assert watching.stdout.readline().strip() == f"flunder.{GROUP}/seen"
        threading.Timer(0.1, lambda: kubectl("create", "-f", "-", given=flunder("later"))).start()
        assert watching.stdout.readline().strip() == f"flunder.{GROUP}/later"


def test_it_is_discovered_and_explained(sample: Kubectl, kubectl: Kubectl) -> None:
    until(lambda: f"flunders.{GROUP}" in kubectl("api-resources", f"--api-group={GROUP}", "-o", "name"))
    until(lambda: "FIELDS" in kubectl.run("explain", "flunders").stdout)
    assert "flunderReference" in kubectl("explain", "flunder.spec", f"--api-version={VERSION}")
    until(lambda: f"/apis/{GROUP}/v1beta1/flunders" in kubectl("get", "--raw", "/openapi/v2"))
    assert "Available" in kubectl("describe", "apiservice", f"v1beta1.{GROUP}")


def test_its_admission_plugin_refuses(sample: Kubectl, kubectl: Kubectl) -> None:
    banned = {"apiVersion": f"{GROUP}/v1alpha1", "kind": "Fischer", "disallowedFlunders": ["evil"]}
    name = f"bans-{kubectl.namespace}"
    kubectl("create", "-f", "-", given={**banned, "metadata": {"name": name}})
    try:
        until(lambda: "this name may not be used" in kubectl.run("create", "-f", "-", given=flunder("evil")).stderr)
    finally:
        kubectl("delete", "fischer", name)


def test_who_may_do_what_there_is_decided_here(sample: Kubectl, kubectl: Kubectl) -> None:
    somebody = f"--as=system:serviceaccount:{kubectl.namespace}:somebody"
    assert "flunders.wardle.example.com is forbidden" in kubectl.run("get", "flunders", somebody).stderr
    kubectl("create", "role", "reads", "--verb=get,list", f"--resource=flunders.{GROUP}")
    kubectl("create", "rolebinding", "reads", "--role=reads", f"--serviceaccount={kubectl.namespace}:somebody")
    kubectl("get", "flunders", somebody)
    refused = kubectl.run("create", "-f", "-", somebody, given=flunder("x"))
    assert refused.returncode == 1 and 'cannot create resource "flunders"' in refused.stderr


def test_a_namespace_takes_its_objects_along(sample: Kubectl, kubectl: Kubectl) -> None:
    space = f"{kubectl.namespace}-short"
    kubectl("create", "namespace", space)
    kubectl("create", "-f", "-", f"--namespace={space}", given=flunder("a"))
    kubectl("delete", "namespace", space, "--timeout=120s")
    kubectl("create", "namespace", space)
    assert kubectl("get", "flunders", f"--namespace={space}", "-o", "name") == ""
    kubectl("delete", "namespace", space, "--wait=false")


def test_top_shows_what_metrics_tell(kubectl: Kubectl, tmp_path: Path) -> None:
    kubectl.namespace = ""  # its objects are in several namespaces
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME}}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "big"}}
    allocatable = {"status": {"allocatable": {"cpu": "1", "memory": "4Gi"}}}
    with metrics(tmp_path) as port:
        registered = api_service(METRICS, "v1beta1", "metrics", port)
        kubectl("apply", "-f", "-", given=listed(space, node, service("metrics", port), registered))
        try:
            kubectl("patch", "node", "big", "--subresource=status", "-p", str(allocatable).replace("'", '"'))
            kubectl("wait", "--for=condition=Available", f"apiservice/v1beta1.{METRICS}", "--timeout=120s")
            until(lambda: "250m" in kubectl.run("top", "nodes").stdout)
            shown = [line.split() for line in kubectl("top", "nodes", "--no-headers").splitlines()]
            assert ["big", "250m", "25%", "1024Mi", "25%"] in shown
            assert kubectl("top", "pods", "-n", "default", "--no-headers").split() == ["web", "7m", "12Mi"]
        finally:
            kubectl("delete", "apiservice", f"v1beta1.{METRICS}")
            kubectl("delete", "node", "big")
