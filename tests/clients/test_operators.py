"""Operators of custom resources: one with kopf, and a controller with lightkube."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import kopf
import pytest
from lightkube import ApiError, Client, KubeConfig
from lightkube.core.resource import GlobalResource, NamespacedResource
from lightkube.generic_resource import create_namespaced_resource
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.apiextensions_v1 import CustomResourceDefinition
from lightkube.resources.core_v1 import ConfigMap, Namespace
from lightkube.types import PatchType

from apiserver_gateway.testing import ApiServer
from tests.clients.kopf_operator import PATIENCE, running

Resource = type[NamespacedResource] | type[GlobalResource]


def definition(group: str) -> CustomResourceDefinition:
    spec = {"type": "object", "required": ["size"], "properties": {"size": {"type": "integer", "minimum": 0}}}
    status = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": spec, "status": status}}
    return CustomResourceDefinition.from_dict(
        {
            "metadata": {"name": f"ponds.{group}"},
            "spec": {
                "group": group,
                "scope": "Namespaced",
                "names": {"plural": "ponds", "kind": "Pond"},
                "versions": [
                    {
                        "name": "v1",
                        "served": True,
                        "storage": True,
                        "subresources": {"status": {}},
                        "schema": {"openAPIV3Schema": schema},
                    }
                ],
            },
        }
    )


@pytest.fixture
def client(server: ApiServer, namespace: str) -> Client:
    """A client in a new namespace; the CRD of Ponds exists."""
    made = Client(KubeConfig.from_file(str(server.kubeconfig)), namespace=namespace, field_manager="tests")
    made.create(Namespace(metadata=ObjectMeta(name=namespace)))
    return made


@pytest.fixture
def ponds(client: Client, namespace: str) -> Any:
    """The Ponds resource; its CRD is Established."""
    group = f"{namespace}.example.com"
    client.create(definition(group))
    client.wait(CustomResourceDefinition, f"ponds.{group}", for_conditions=["Established"])
    return create_namespaced_resource(group, "v1", "Pond", "ponds")


def reached(client: Client, ponds: Any, name: str, holds: Callable[[Any], Any]) -> Any:
    """The first state of an object for which a condition holds. The watch has a timeout."""
    for _, found in client.watch(ponds, fields={"metadata.name": name}, server_timeout=PATIENCE):
        if holds(found):
            return found
    pytest.fail("it never came to that")


@pytest.fixture
def operator(server: ApiServer, ponds: Any, namespace: str) -> Iterator[None]:
    """A kopf operator, in a thread, that writes the number of a pond's fish to its status."""
    registry = kopf.OperatorRegistry()
    place = (f"{namespace}.example.com", "v1", "ponds")

    @kopf.on.create(*place, registry=registry)
    @kopf.on.update(*place, registry=registry, field="spec.size")
    def stock(spec: kopf.Spec, patch: kopf.Patch, **_: Any) -> None:
        patch.status["fish"] = spec["size"] * 2

    @kopf.on.delete(*place, registry=registry)
    def drain(**_: Any) -> None:
        """Lets kopf put a finalizer on ponds."""

    with running(server, registry, namespace):
        yield


@pytest.mark.usefixtures("operator")
def test_a_kopf_operator_reconciles_custom_objects(client: Client, ponds: Any) -> None:
    client.create(ponds(metadata=ObjectMeta(name="p"), spec={"size": 2}))
    found = reached(client, ponds, "p", lambda pond: (pond.status or {}).get("fish") == 4)
    assert found.metadata.generation == 1
    assert found.metadata.finalizers
    client.patch(ponds, "p", {"spec": {"size": 3}}, patch_type=PatchType.MERGE)
    assert reached(client, ponds, "p", lambda pond: (pond.status or {}).get("fish") == 6).metadata.generation == 2
    with pytest.raises(ApiError, match="should be greater than or equal to 0"):
        client.patch(ponds, "p", {"spec": {"size": -1}}, patch_type=PatchType.MERGE)
    seen = client.get(ponds, "p").metadata.resourceVersion  # the watch begins with the first request for an event
    client.delete(ponds, "p")
    watching = client.watch(ponds, server_timeout=PATIENCE, resource_version=seen)
    assert any(event == "DELETED" for event, _ in watching)  # once the operator has removed its finalizer


def test_a_lightkube_controller_reconciles_custom_objects(client: Client, ponds: Any) -> None:
    """Level-triggered: a ConfigMap is applied for each pond, a finalizer protects it, the status shows it."""

    def reconcile(pond: Any) -> bool:
        meta = pond.metadata
        if meta.deletionTimestamp:
            client.delete(ConfigMap, meta.name)
            client.patch(ponds, meta.name, {"metadata": {"finalizers": None}}, patch_type=PatchType.MERGE)
            return True
        if not meta.finalizers:
            guard = {"metadata": {"finalizers": ["example.com/pond"]}}
            client.patch(ponds, meta.name, guard, patch_type=PatchType.MERGE)
            return False
        client.apply(ConfigMap(metadata=ObjectMeta(name=meta.name), data={"size": str(pond.spec["size"])}))
        if (pond.status or {}).get("observedGeneration") != meta.generation:
            seen = {"status": {"observedGeneration": meta.generation}}
            client.patch(ponds.Status, meta.name, seen, patch_type=PatchType.MERGE)
        return False

    client.create(ponds(metadata=ObjectMeta(name="q"), spec={"size": 1}))
    steps = iter(["grow", "delete"])
    for _, pond in client.watch(ponds, server_timeout=PATIENCE):
        if reconcile(pond):
            break
        if (pond.status or {}).get("observedGeneration") == pond.metadata.generation:
            assert client.get(ConfigMap, "q").data == {"size": str(pond.spec["size"])}
            match next(steps, ""):
                case "grow":
                    client.patch(ponds, "q", {"spec": {"size": 5}}, patch_type=PatchType.MERGE)
                case "delete":
                    client.delete(ponds, "q")
    with pytest.raises(ApiError, match="not found"):
        client.get(ponds, "q")
