"""Field managers of custom objects, as of kube-apiserver 1.37.2: empty lists are values, but not of managedFields."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer
from tests.integration.customresources.definitions import MERGE, definition, establish, version
from tests.integration.server.client import ask

GROUP = "owners.example.com"
OBJECTS = f"/apis/{GROUP}/v1/namespaces/default/widgets"
NAMES = {"type": "array", "items": {"type": "string"}}
RULES = {"type": "array", "items": {"type": "object", "properties": {"names": NAMES}}}


@pytest.fixture(scope="module", autouse=True)
def defined(servers: tuple[ApiServer, ApiServer]) -> None:
    establish(servers[0], definition(GROUP, version(properties={"rules": RULES})))


def make(server: ApiServer, name: str) -> dict[str, Any]:
    obj = {"apiVersion": f"{GROUP}/v1", "kind": "Widget", "metadata": {"name": name}, "rules": [{"names": []}]}
    answer = ask(server, "POST", f"{OBJECTS}?fieldManager=maker", obj)
    assert answer.status == 201, answer.body
    return dict(answer.json)


def owners(answer: Any) -> dict[str, Any]:
    assert answer.status == 200, answer.body
    return {entry["manager"]: entry["fieldsV1"] for entry in answer.json["metadata"].get("managedFields", [])}


def test_an_empty_list_that_an_object_keeps_changes_no_owner(server: ApiServer) -> None:
    obj, path = make(server, "kept"), f"{OBJECTS}/kept?fieldManager=other"
    obj["metadata"] |= {"annotations": {}, "ownerReferences": []}
    assert owners(ask(server, "PUT", path, obj)) == {"maker": {"f:rules": {}}}
    patch = {"metadata": {"labels": {"a": "b"}, "finalizers": []}, "rules": obj["rules"]}
    found = owners(ask(server, "PATCH", path, patch, headers=MERGE))
    assert found == {"maker": {"f:rules": {}}, "other": {"f:metadata": {"f:labels": {".": {}, "f:a": {}}}}}


def test_an_empty_list_of_managed_fields_clears_none(server: ApiServer) -> None:
    obj, path = make(server, "managed"), f"{OBJECTS}/managed?fieldManager=maker"
    obj["metadata"]["managedFields"] = []
    assert owners(ask(server, "PUT", path, obj)) == {"maker": {"f:rules": {}}}
    assert owners(ask(server, "PATCH", path, {"metadata": {"managedFields": []}}, headers=MERGE)) == {
        "maker": {"f:rules": {}}
    }
    assert owners(ask(server, "PATCH", path, {"metadata": {"managedFields": [{}]}}, headers=MERGE)) == {}
