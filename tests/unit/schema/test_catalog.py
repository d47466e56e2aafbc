"""The catalog of built-in types and the registry of what is served."""

import pytest

from gateway.discovery.documents import storage_version_hash
from gateway.kinds.builtin import builtin_registry
from gateway.kinds.identity import GroupVersion, GroupVersionKind, GroupVersionResource
from gateway.kinds.model import Model, Version
from gateway.kinds.resource import Resource
from gateway.release.lifecycle import version_priority
from gateway.release.minors import CATALOGS, CATALOGUED
from gateway.release.release import release_of
from gateway.schema.catalog import catalog_of, type_for, type_of
from gateway.schema.types import Omit, Type, TypeKind

POD = "io.k8s.api.core.v1.Pod"


@pytest.mark.parametrize("minor", [CATALOGUED, *CATALOGS])
def test_every_type_of_a_catalog_can_be_built(minor: str) -> None:
    catalog = catalog_of(minor)
    for name in catalog.document["types"]:
        assert catalog.type_of(name).name
    assert catalog.document["version"] == minor


def test_types_of_kinds_are_kept_by_the_names_of_kinds_alone() -> None:
    catalog = catalog_of(CATALOGUED)
    assert catalog.type_for("", "v1", "Pod") is catalog.type_for("", "v1", "Pod") is catalog.type_of(POD)
    for number in range(3):
        assert catalog.type_for(f"group{number}", "v1", "DeleteOptions").name
        with pytest.raises(KeyError):
            catalog.type_for(f"group{number}", "v1", "Pod")
    assert catalog._of_kinds.keys() <= catalog.document["kinds"].keys()


def test_a_registry_has_the_types_of_its_minor_whatever_the_process_serves() -> None:
    has = {}
    for minor in ("1.36", "1.37"):
        nodes = builtin_registry(release=release_of(minor=minor)).get("", "v1", "nodes")
        assert nodes is not None
        has[minor] = "podPreemptionPolicy" in nodes.type.fields["spec"].type.fields
    assert has == {"1.36": False, "1.37": True}
    assert catalog_of("1.34") is catalog_of("1.36") is not catalog_of("1.37")


def test_types_that_lead_back_to_themselves_are_finite() -> None:
    schema = type_of("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps")
    assert schema.fields["properties"].type.elem is schema
    assert schema.fields["additionalProperties"].type.elem is schema


def test_fields_know_what_openapi_and_go_say_of_them() -> None:
    container = type_for("", "v1", "Pod").fields["spec"].type.fields["containers"].type.elem
    assert container is not None
    ports = container.fields["ports"]
    assert (ports.type.list_type, ports.type.list_map_keys) == ("map", ("containerPort", "protocol"))
    assert (ports.patch_merge_key, ports.patch_strategies, ports.number) == ("containerPort", ("merge",), 6)
    assert ports.type.elem is not None
    assert ports.type.elem.fields["protocol"].default == "TCP"
    assert container.fields["resources"].omit is Omit.NEVER
    assert container.fields["resources"].type.fields["limits"].type.name == "v1.ResourceList"


def test_a_field_may_own_its_parts_though_its_type_is_atomic() -> None:
    claim = type_of("io.k8s.api.core.v1.PersistentVolumeSpec").fields["claimRef"].type
    assert (claim.atomic, type_of("io.k8s.api.core.v1.ObjectReference").atomic) == (False, True)


def test_served_resources_have_their_places_in_etcd() -> None:
    registry = builtin_registry()
    prefixes = {resource.qualified: resource.storage_prefix for resource in registry.stored()}
    assert prefixes["services"] == "services/specs"
    assert prefixes["deployments.apps"] == "deployments"
    assert prefixes["customresourcedefinitions.apiextensions.k8s.io"] == (
        "apiextensions.k8s.io/customresourcedefinitions"
    )
    assert len(set(prefixes.values())) == len(prefixes)
    for resource in registry.resources.values():
        assert type_of(resource.type_name).kind is TypeKind.STRUCT


def test_versions_of_one_resource_share_storage() -> None:
    registry = builtin_registry()
    one, two = (registry.get("autoscaling", version, "horizontalpodautoscalers") for version in ("v1", "v2"))
    assert one and two
    assert (one.storage_version, one.storage_prefix) == ("autoscaling/v2", two.storage_prefix)
    assert storage_version_hash(one) == storage_version_hash(two) == "qwQve8ut294="
    assert registry.preferred("autoscaling", "horizontalpodautoscalers") is two


def test_resources_come_and_go() -> None:
    registry = builtin_registry()
    verbs = frozenset({"get"})
    versions = {
        GroupVersion("e.com", version): Version(
            GroupVersionKind("e.com", version, "W"), lambda: Type(TypeKind.ANY, "W")
        )
        for version in ("v1beta1", "v1")
    }
    model = Model("e.com", "ws", "W", True, GroupVersion("e.com", "v1"), versions, storage_prefix="e.com/ws")
    for version in ("v1beta1", "v1"):
        registry.add([Resource(model, "e.com", version, "ws", "W", "e.com", version, verbs)])
    assert registry.groups["e.com"] == ["v1", "v1beta1"]
    assert registry.by_kind("e.com", "v1", "W") is registry.get("e.com", "v1", "ws")
    for version in ("v1beta1", "v1"):
        registry.remove([GroupVersionResource("e.com", version, "ws")])
    assert "e.com" not in registry.groups
    assert registry.get("e.com", "v1", "ws") is None


def test_versions_are_ordered_as_kubernetes_orders_them() -> None:
    versions = ["foo1", "v1alpha1", "v10", "v2", "v11beta2", "v3beta1", "v1", "v10beta3"]
    ordered = ["v10", "v2", "v1", "v11beta2", "v10beta3", "v3beta1", "v1alpha1", "foo1"]
    assert sorted(versions, key=version_priority) == ordered
