"""Objects stored before a field existed are read with it, as by kube-apiserver's Decorators."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.jsontypes import dumps, loads
from gateway.kinds.builtin import builtin_registry
from tests.unit.kinds.builtin import canonicaliser_of

SINGLE, DUAL = "SingleStack", "RequireDualStack"


def service(spec: dict[str, Any], primary: str = "IPv4") -> dict[str, Any]:
    """The fields of a service's IP families as they are read from a stored value with this specification."""
    found = builtin_registry(primary).by_kind("", "v1", "Service")
    assert found is not None
    obj = {"kind": "Service", "apiVersion": "v1", "metadata": {"name": "a", "uid": "u"}, "spec": spec}
    read = loads(found.model.canonicalise(dumps(obj)))["spec"]
    assert found.model.canonicalise(dumps({**obj, "spec": read})) == found.model.canonicalise(dumps(obj))
    return {name: read.get(name) for name in ("clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy")}


@pytest.mark.parametrize(
    ("spec", "addresses", "families", "policy"),
    [
        ({"clusterIP": "10.0.0.9"}, ["10.0.0.9"], ["IPv4"], SINGLE),
        ({"clusterIP": "fd00::9"}, ["fd00::9"], ["IPv6"], SINGLE),
        (
            {"clusterIP": "10.0.0.9", "clusterIPs": ["10.0.0.9", "fd00::9"]},
            ["10.0.0.9", "fd00::9"],
            ["IPv4", "IPv6"],
            DUAL,
        ),
        ({"clusterIP": "None", "selector": {"a": "b"}}, ["None"], ["IPv4"], SINGLE),
        ({"clusterIP": "None"}, ["None"], ["IPv4", "IPv6"], DUAL),
        ({"clusterIP": "None", "ipFamilies": ["IPv6"], "ipFamilyPolicy": SINGLE}, ["None"], ["IPv6"], SINGLE),
        ({}, None, None, None),
    ],
)
def test_services_have_the_fields_of_both_ip_families(
    spec: dict[str, Any], addresses: list[str] | None, families: list[str] | None, policy: str | None
) -> None:
    read = service(spec)
    assert read == {
        "clusterIPs": addresses,
        "ipFamilies": families,
        "ipFamilyPolicy": policy,
        "internalTrafficPolicy": "Cluster",
    }


def test_headless_services_have_the_family_of_the_server() -> None:
    assert service({"clusterIP": "None"}, "IPv6")["ipFamilies"] == ["IPv6", "IPv4"]
    assert service({"clusterIP": "None", "selector": {"a": "b"}}, "IPv6")["ipFamilies"] == ["IPv6"]


def test_names_have_no_families() -> None:
    spec = {"type": "ExternalName", "externalName": "a.b", "internalTrafficPolicy": "Cluster"}
    assert set(service(spec).values()) == {None}


@pytest.mark.parametrize(
    ("source", "other", "shown"),
    [
        ("dataSource", "dataSourceRef", {"apiGroup": "", "kind": "PersistentVolumeClaim", "name": "b"}),
        ("dataSourceRef", "dataSource", {"apiGroup": "g", "kind": "K", "name": "b"}),
    ],
)
def test_claims_have_both_fields_of_their_source(source: str, other: str, shown: dict[str, str]) -> None:
    read = canonicaliser_of("", "v1", "PersistentVolumeClaim")
    obj = {"kind": "PersistentVolumeClaim", "apiVersion": "v1", "metadata": {"name": "a"}, "spec": {source: shown}}
    assert loads(read(dumps(obj)))["spec"][other] == shown


def test_a_claim_that_refers_to_another_namespace_has_one() -> None:
    read = canonicaliser_of("", "v1", "PersistentVolumeClaim")
    reference = {"kind": "K", "name": "b", "namespace": "n"}
    obj = {"kind": "PersistentVolumeClaim", "apiVersion": "v1", "metadata": {"name": "a"}}
    assert "dataSource" not in loads(read(dumps({**obj, "spec": {"dataSourceRef": reference}})))["spec"]
