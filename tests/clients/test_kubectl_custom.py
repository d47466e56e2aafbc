"""kubectl with custom kinds: scale, and the migration of stored objects to another version."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.clients.command import Kubectl

ANY = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
SCALE = {
    "specReplicasPath": ".spec.replicas",
    "statusReplicasPath": ".status.replicas",
    "labelSelectorPath": ".status.selector",
}


def version(name: str, *, storage: bool) -> dict[str, Any]:
    return {
        "name": name,
        "served": True,
        "storage": storage,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": ANY, "status": ANY}}},
        "subresources": {"status": {}, "scale": SCALE},
    }


@pytest.fixture
def ponds(kubectl: Kubectl) -> str:
    """The name of a CRD with two versions, of which v1 is the storage version; it has two objects."""
    group = f"{kubectl.namespace}.example.com"
    spec = {
        "group": group,
        "scope": "Namespaced",
        "names": {"plural": "ponds", "kind": "Pond"},
        "versions": [version("v1", storage=True), version("v2", storage=False)],
    }
    name = f"ponds.{group}"
    head = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": name}}
    kubectl("create", "-f", "-", given={**head, "spec": spec})
    kubectl("wait", "--for=condition=Established", f"crd/{name}", "--timeout=120s")
    for each in ("one", "two"):
        pond = {"apiVersion": f"{group}/v1", "kind": "Pond", "metadata": {"name": each}, "spec": {"replicas": 1}}
        kubectl("create", "-f", "-", given=pond)
    return name


def test_scale(kubectl: Kubectl, ponds: str) -> None:
    assert kubectl("scale", f"{ponds}/one", "--replicas=3").split() == [f"pond.{ponds.partition('.')[2]}/one", "scaled"]
    assert kubectl.get(f"{ponds}/one")["spec"]["replicas"] == 3
    refused = kubectl.run("scale", f"{ponds}/one", "--current-replicas=2", "--replicas=4")
    assert refused.returncode and "Expected replicas to be 2, was 3" in refused.stderr
    kubectl("scale", ponds, "--all", "--replicas=5")
    assert {kubectl.get(f"{ponds}/{name}")["spec"]["replicas"] for name in ("one", "two")} == {5}
    owners = kubectl.get(f"{ponds}/one", "--show-managed-fields")["metadata"]["managedFields"]
    assert [each["subresource"] for each in owners if "f:replicas" in str(each["fieldsV1"])] == ["scale"]


def test_what_an_autoscaler_reads(kubectl: Kubectl, ponds: str) -> None:
    """The selector of the object's pods, which the scale subresource takes from its status."""
    change = json.dumps({"status": {"replicas": 1, "selector": "pond=one"}})
    kubectl("patch", f"{ponds}/one", "--subresource=status", "--type=merge", "-p", change)
    scale = kubectl.get(f"{ponds}/one", "--subresource=scale")
    assert (scale["kind"], scale["spec"]) == ("Scale", {"replicas": 1})
    assert scale["status"] == {"replicas": 1, "selector": "pond=one"}


def test_storage_migration(kubectl: Kubectl, ponds: str) -> None:
    """The steps of "Upgrade existing objects to a new stored version" in the documentation of CRDs."""
    versions = [version("v1", storage=False), version("v2", storage=True)]
    kubectl("patch", "crd", ponds, "--type=merge", "-p", json.dumps({"spec": {"versions": versions}}))
    assert kubectl.get("crd", ponds)["status"]["storedVersions"] == ["v1", "v2"]
    only_two = json.dumps({"spec": {"versions": versions[1:]}})
    refused = kubectl.run("patch", "crd", ponds, "--type=merge", "-p", only_two)
    assert refused.returncode and "must remain in spec.versions until a storage migration" in refused.stderr
    replaced = kubectl("replace", "-f", "-", given=kubectl("get", ponds, "-o", "json"))
    assert replaced.count("replaced") == 2
    pruned = json.dumps({"status": {"storedVersions": ["v2"]}})
    kubectl("patch", "crd", ponds, "--subresource=status", "--type=merge", "-p", pruned)
    kubectl("patch", "crd", ponds, "--type=merge", "-p", only_two)
    assert [each["spec"] for each in kubectl.get(ponds)["items"]] == [{"replicas": 1}] * 2
