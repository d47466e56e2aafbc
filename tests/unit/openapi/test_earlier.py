"""OpenAPI documents of a minor whose types are those of a later catalog, but for what data/openapi.json says."""

from __future__ import annotations

from typing import Any

from gateway.jsontypes import loads
from gateway.kinds.builtin import builtin_registry
from gateway.openapi.documents import Documents
from gateway.openapi.version2 import Version2
from gateway.release.release import release_of
from gateway.schema.catalog import serving

PODS, META = "io.k8s.api.core.v1.", "io.k8s.apimachinery.pkg.apis.meta.v1."


def _document(minor: str, place: str) -> Any:
    with serving(minor):
        return loads(Documents(builtin_registry(release=release_of(minor=minor))).document(place) or b"")


def _parameters(document: Any) -> set[str]:
    return {each["name"] for each in document["paths"]["/api/v1/configmaps"]["parameters"]}


def test_a_minor_has_no_parameter_that_came_later() -> None:
    assert "shardSelector" not in _parameters(_document("1.35", "api/v1"))
    assert "shardSelector" in _parameters(_document("1.36", "api/v1"))


def test_a_minor_has_its_own_fields_and_types() -> None:
    """As the documents of kube-apiserver 1.35.4 have them."""
    schemas = _document("1.35", "api/v1")["components"]["schemas"]
    spec = schemas[PODS + "PodSpec"]["properties"]
    assert "schedulingGroup" not in spec and spec["workloadRef"]["allOf"]
    assert PODS + "WorkloadReference" in schemas and PODS + "PodSchedulingGroup" not in schemas
    assert "shardInfo" not in schemas[META + "ListMeta"]["properties"] and META + "ShardInfo" not in schemas
    assert {"group": "admission.k8s.io", "kind": "DeleteOptions", "version": "v1"} in (
        schemas[META + "DeleteOptions"]["x-kubernetes-group-version-kind"]
    )


def test_a_minor_says_what_it_requires() -> None:
    def required(minor: str) -> list[str]:
        schemas = _document(minor, "apis/rbac.authorization.k8s.io/v1")["components"]["schemas"]
        return list(schemas["io.k8s.api.rbac.v1.RoleRef"]["required"])

    assert required("1.35") == ["apiGroup", "kind", "name"]
    assert required("1.36") == ["kind", "name"]


def test_version_2_agrees_with_version_3() -> None:
    with serving("1.35"):
        made = Version2(builtin_registry(release=release_of(minor="1.35")))
        text = made.document(made.served())
    assert b"WorkloadReference" in text and b"shardSelector" not in text and b"ShardInfo" not in text
