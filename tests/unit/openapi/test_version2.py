"""The v2 document has every kind once and every request, and no dangling references."""

from __future__ import annotations

import time
from typing import Any

import pytest

from gateway.jsontypes import loads
from gateway.kinds.builtin import builtin_registry
from gateway.kinds.identity import GroupVersionResource
from gateway.openapi import version2_latest
from gateway.openapi.version2 import Version2
from tests.limits import at_most_cpu
from tests.unit.openapi.definitions import custom

REGISTRY = builtin_registry()
MADE = Version2(REGISTRY)
DOCUMENT = loads(MADE.document(MADE.served()))
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


@pytest.mark.parametrize("protobuf", [False, True])
def test_what_is_made_of_parts_is_as_if_made_at_once(protobuf: bool) -> None:
    registry = builtin_registry()
    kept = Version2(registry)

    def agree() -> bytes:
        found, anew = kept.document(kept.served(), protobuf), Version2(registry)
        assert found == anew.document(anew.served(), protobuf)
        return found

    without = agree()
    registry.add(custom("one.example.com", "zebra"))
    registry.add(custom("apps", "okapi"))  # in a group that is built in
    both = agree()
    assert both.count(b"zebra") == 2
    assert both.count(b"okapi") == 2
    registry.add(custom("one.example.com", "quagga"))
    assert agree().count(b"quagga") > both.count(b"quagga")
    for group in ("one.example.com", "apps"):
        for version in ("v1", "v2"):
            registry.remove([GroupVersionResource(group, version, "widgets")])
    assert agree() == without


def test_a_change_costs_little() -> None:
    registry = builtin_registry()
    made = Version2(registry)
    made.document(made.served())
    before = time.thread_time()
    for _ in range(3):
        made.document(made.served())
    again = (time.thread_time() - before) / 3
    before = time.thread_time()
    registry.add(custom("one.example.com", "one"))
    made.document(made.served())
    at_most_cpu(time.thread_time() - before, again + 0.05)


@pytest.mark.parametrize("kind", ["DeleteOptions", "WatchEvent"])
def test_options_are_kinds_of_every_version_that_is_registered(kind: str) -> None:
    made = Version2(builtin_registry())
    definition = loads(made.document(made.served()))["definitions"][f"io.k8s.apimachinery.pkg.apis.meta.v1.{kind}"]
    versions = [(each["group"], each["version"]) for each in definition["x-kubernetes-group-version-kind"]]
    assert (len(versions), versions) == (62, sorted(versions))
    assert {("", "v1"), ("admission.k8s.io", "v1"), ("imagepolicy.k8s.io", "v1alpha1")} < set(versions)


@pytest.mark.parametrize(
    ("path", "consumed"),
    [
        ("/api/v1/namespaces/{namespace}/configmaps", ["*/*"]),
        ("/api/", ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"]),
        ("/version/", ["application/json"]),
        ("/openid/v1/jwks/", None),
    ],
)
def test_what_has_no_objects_is_said_to_take_what_it_answers(path: str, consumed: list[str] | None) -> None:
    assert PATHS[path]["get"].get("consumes") == consumed


@pytest.mark.parametrize("minor_change", [False, True])
async def test_a_large_document_is_kept_compressed(monkeypatch: pytest.MonkeyPatch, minor_change: bool) -> None:
    monkeypatch.setattr(version2_latest, "_LARGE", 1 << 20)
    latest = version2_latest.LatestVersion2(REGISTRY)
    whole = MADE.document(MADE.served())
    found, tag = await latest.document(protobuf=False)
    if minor_change:
        latest.forget()
    assert found == whole and await latest.document(protobuf=False) == (whole, tag)
    as_protobuf, other = await latest.document(protobuf=True)
    assert as_protobuf == MADE.document(MADE.served(), protobuf=True) and other == tag
    assert sum(len(each.content) for each in latest._made.values()) < len(whole) / 3


def test_parts_take_a_fraction_of_the_document() -> None:
    registry = builtin_registry()
    made = Version2(registry)
    before = len(made.document(made.served()))
    for number in range(20):
        registry.add(custom(f"g{number}.example.com", "zebra"))
    grown = len(made.document(made.served())) - before
    parts = [part for place, part in made._parts.items() if place[0]]
    assert len(parts) == 40 and sum(len(part.packed) for part in parts) < grown / 5
