"""The v2 document holds every kind once and every request, and refers to nothing that isn't there."""

from __future__ import annotations

from typing import Any

from gateway.jsontypes import loads
from gateway.kinds.builtin import builtin_registry
from gateway.openapi.version2 import json_document

REGISTRY = builtin_registry()
DOCUMENT = loads(json_document(REGISTRY))
DEFINITIONS, PATHS = DOCUMENT["definitions"], DOCUMENT["paths"]


def test_every_reference_leads_to_a_definition() -> None:
    assert set(_references(DEFINITIONS)) <= {f"#/definitions/{name}" for name in DEFINITIONS}


def test_every_kind_is_found_by_its_extension() -> None:
    kinds = {
        (each["group"], each["version"], each["kind"])
        for definition in DEFINITIONS.values()
        for each in definition.get("x-kubernetes-group-version-kind", ())
    }
    served = {each for each in REGISTRY.resources.values() if not each.subresource}
    assert {(each.group, each.version, each.kind) for each in served} <= kinds


def test_every_request_refers_to_definitions() -> None:
    assert set(_references(PATHS)) <= {f"#/definitions/{name}" for name in DEFINITIONS}


def test_bodies_and_answers_are_said_in_its_words() -> None:
    place = PATHS["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]
    assert [(each["name"], each["in"], each["type"]) for each in place["parameters"]][:2] == [
        ("name", "path", "string"),
        ("namespace", "path", "string"),
    ]
    put = place["put"]
    reference = {"$ref": "#/definitions/io.k8s.api.apps.v1.Deployment"}
    assert put["parameters"][0] == {"name": "body", "in": "body", "schema": reference, "required": True}
    assert put["responses"]["200"]["schema"] == reference
    assert (put["consumes"], put["schemes"]) == (["*/*"], ["https"])
    assert "application/apply-patch+yaml" in place["patch"]["consumes"]
    assert "application/json;stream=watch" in PATHS["/api/v1/pods"]["get"]["produces"]


def test_operations_have_names_of_their_own() -> None:
    names = [each["operationId"] for item in PATHS.values() for key, each in item.items() if key != "parameters"]
    assert len(names) == len(set(names))


def _references(node: Any) -> list[str]:
    found: list[str] = []
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            found.append(node["$ref"])
        node = list(node.values())
    if isinstance(node, list):
        for each in node:
            found += _references(each)
    return found
