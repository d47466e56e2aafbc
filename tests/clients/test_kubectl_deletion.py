"""`kubectl delete` with each of its flags, and `kubectl wait --for=delete`."""

from __future__ import annotations

import subprocess
import time
from typing import Any

import pytest

from tests.clients.command import Kubectl


def config_map(name: str, owner: Any = None, **metadata: Any) -> dict[str, Any]:
    references = {}
    if owner is not None:
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "blockOwnerDeletion": True}
        reference |= {"name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]}
        references = {"ownerReferences": [reference]}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **references, **metadata}}


def names(kubectl: Kubectl, what: str = "configmaps") -> set[str]:
    return {name.partition("/")[2] for name in kubectl.names(what)} - {"kube-root-ca.crt"}


def comes_to(kubectl: Kubectl, expected: set[str]) -> None:
    deadline = time.monotonic() + 60
    while names(kubectl) != expected:
        assert time.monotonic() < deadline, names(kubectl)
        time.sleep(0.1)


@pytest.fixture
def family(kubectl: Kubectl) -> Kubectl:
    """kubectl, where "child" has "parent" as its owner."""
    kubectl("create", "-f", "-", given=config_map("parent"))
    kubectl("create", "-f", "-", given=config_map("child", kubectl.get("configmap", "parent")))
    return kubectl


def test_cascade_in_the_background(family: Kubectl) -> None:
    assert "deleted" in family("delete", "configmap", "parent", "--cascade=background")
    comes_to(family, set())


def test_cascade_in_the_foreground_waits_for_the_dependents(family: Kubectl) -> None:
    family("delete", "configmap", "parent", "--cascade=foreground")
    assert names(family) == set()


def test_cascade_that_orphans(family: Kubectl) -> None:
    family("delete", "configmap", "parent", "--cascade=orphan")
    assert names(family) == {"child"}
    assert "ownerReferences" not in family.get("configmap", "child")["metadata"]


def test_a_deployment_leaves_its_replica_set_when_it_orphans(kubectl: Kubectl) -> None:
    kubectl("create", "deployment", "web", "--image=nginx")
    uid = kubectl.get("deployment", "web")["metadata"]["uid"]
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": uid, "controller": True}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 0, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    meta = {"name": "web-1", "ownerReferences": [reference]}
    given = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": meta, "spec": spec}
    kubectl("create", "-f", "-", given=given)
    kubectl("delete", "deployment", "web", "--cascade=orphan")
    assert "ownerReferences" not in kubectl.get("replicaset", "web-1")["metadata"]


def test_a_selection_and_everything(kubectl: Kubectl) -> None:
    for name, colour in (("a", "red"), ("b", "red"), ("c", "blue")):
        kubectl("create", "-f", "-", given=config_map(name, labels={"colour": colour}))
    kubectl("delete", "configmap", "-l", "colour=red")
    assert names(kubectl) == {"c"}
    kubectl("delete", "configmap", "--all")
    assert names(kubectl) == set()


def pod(kubectl: Kubectl, name: str = "p", **spec: Any) -> None:
    container = {"name": "c", "image": "i"}
    given = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container], **spec}}
    kubectl("create", "-f", "-", given=given)


@pytest.mark.parametrize(
    "how",
    [
        [],
        ["--grace-period=5"],
        ["--now"],
        ["--grace-period=0", "--force"],
        ["--force"],
        ["--wait=false"],
    ],
)
def test_pods_on_a_node_that_is_not_there_go_whatever_their_grace_period(kubectl: Kubectl, how: list[str]) -> None:
    pod(kubectl, nodeName="nowhere")
    kubectl("delete", "pod", "p", *how)
    kubectl("wait", "--for=delete", "pod/p", "--timeout=120s")
    assert kubectl.names("pods") == []


def test_wait_for_delete_waits_for_the_last_finalizer(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=config_map("held", finalizers=["example.com/f"]))
    kubectl("delete", "configmap", "held", "--wait=false")
    with kubectl.running("wait", "--for=delete", "configmap/held", "--timeout=120s") as waiting:
        with pytest.raises(subprocess.TimeoutExpired):
            waiting.wait(1)
        kubectl("patch", "configmap", "held", "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
        assert waiting.wait(120) == 0


def test_a_namespace_is_waited_for_with_all_that_is_in_it(kubectl: Kubectl, namespace: str) -> None:
    pod(kubectl)
    kubectl("create", "-f", "-", given=config_map("a"))
    kubectl("delete", "namespace", namespace)
    assert namespace not in {name.partition("/")[2] for name in kubectl.names("namespaces")}


def test_pods_are_created_in_a_new_namespace_at_once(kubectl: Kubectl) -> None:
    kubectl("run", "p", "--image=nginx")
    assert kubectl.get("pod", "p")["spec"]["serviceAccountName"] == "default"
