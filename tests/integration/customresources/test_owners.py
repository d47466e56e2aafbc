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

VERSIONS = ("v1", "v2", "v3")
PRESERVE = "x-kubernetes-preserve-unknown-fields"
APPLY = {"Content-Type": "application/apply-patch+yaml"}


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


def test_a_status_write_keeps_owners_in_versions_with_a_status_only(servers: tuple[ApiServer, ApiServer]) -> None:
    server, group, anything = servers[0], "reset.example.com", {"type": "object", PRESERVE: True}
    versions = [
        version(name, storage=name == "v1", properties={"spec": anything, "status": anything}) for name in VERSIONS
    ]
    for each in versions:
        each["subresources"] = {} if each["name"] == "v2" else {"status": {}}
    establish(server, definition(group, *versions))
    for name in VERSIONS:
        path = f"/apis/{group}/{name}/namespaces/default/widgets/a"
        config = {
            "apiVersion": f"{group}/{name}",
            "kind": "Widget",
            "metadata": {"name": "a"},
            "spec": {f"in{name}": 1},
        }
        answer = ask(server, "PATCH", f"{path}?fieldManager={name}", config, headers=APPLY)
        assert answer.status in (200, 201), answer.body
    path = f"/apis/{group}/v1/namespaces/default/widgets/a"
    obj = ask(server, "GET", path).json
    obj |= {"spec": {f"in{name}": 2 for name in VERSIONS}, "status": {"s": 1}}
    assert owners(ask(server, "PUT", f"{path}/status?fieldManager=writer", obj)) == {
        "v1": {"f:spec": {"f:inv1": {}}},
        "v3": {"f:spec": {"f:inv3": {}}},
        "writer": {"f:status": {".": {}, "f:s": {}}},
    }
