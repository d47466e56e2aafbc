"""The scale subresource of custom objects: replicas and selector at the paths of the CRD."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer
from tests.integration.customresources.definitions import MERGE, definition, establish, version
from tests.integration.server.client import ask

APPLY = {"Content-Type": "application/apply-patch+yaml"}
PATHS = {
    "specReplicasPath": ".spec.size.wanted",
    "statusReplicasPath": ".status.actual",
    "labelSelectorPath": ".status.selector",
}
PRESERVING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
GROUP = "scale.example.com"
OBJECTS = f"/apis/{GROUP}/v1/namespaces/default/widgets"


@pytest.fixture(scope="module", autouse=True)
def defined(servers: tuple[ApiServer, ApiServer]) -> None:
    properties = {"spec": PRESERVING, "status": PRESERVING}
    establish(servers[0], definition(GROUP, version(properties=properties, subresources={"scale": PATHS})))


def make(server: ApiServer, name: str, **parts: Any) -> str:
    obj = {"apiVersion": f"{GROUP}/v1", "kind": "Widget", "metadata": {"name": name}, **parts}
    answer = ask(server, "POST", f"{OBJECTS}?fieldManager=maker", obj)
    assert answer.status == 201, answer.body
    return f"{OBJECTS}/{name}"


def scale(name: str, replicas: int, **meta: Any) -> dict[str, Any]:
    spec = {"replicas": replicas}
    return {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": name, **meta}, "spec": spec}


def test_discovery_tells_the_kind(server: ApiServer) -> None:
    found = {one["name"]: one for one in ask(server, "GET", f"/apis/{GROUP}/v1").json["resources"]}
    told = found["widgets/scale"]
    assert (told["group"], told["version"], told["kind"]) == ("autoscaling", "v1", "Scale")


def test_aggregated_discovery_names_group_and_version_of_custom_kinds(server: ApiServer) -> None:
    accept = {"Accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}
    groups = {each["metadata"]["name"]: each for each in ask(server, "GET", "/apis", headers=accept).json["items"]}
    [found] = groups[GROUP]["versions"][0]["resources"]
    assert found["responseKind"] == {"group": GROUP, "version": "v1", "kind": "Widget"}
    [told] = found["subresources"]
    assert told["responseKind"] == {"group": "autoscaling", "version": "v1", "kind": "Scale"}
    apps = groups["apps"]["versions"][0]["resources"]
    assert {(each["responseKind"]["group"], each["responseKind"]["version"]) for each in apps} == {("", "")}


def test_it_shows_what_is_at_the_paths(server: ApiServer) -> None:
    path = make(server, "shown", spec={"size": {"wanted": 3}}, status={"actual": 2, "selector": "app=a"})
    shown = ask(server, "GET", f"{path}/scale").json
    assert (shown["apiVersion"], shown["kind"]) == ("autoscaling/v1", "Scale")
    assert (shown["spec"], shown["status"]) == ({"replicas": 3}, {"replicas": 2, "selector": "app=a"})


def test_its_table_has_the_columns_of_custom_scales(server: ApiServer) -> None:
    path = make(server, "table", spec={"size": {"wanted": 3}}, status={"actual": 2})
    table = ask(server, "GET", f"{path}/scale", headers={"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}).json
    columns = [(one["name"], one["type"], one["format"]) for one in table["columnDefinitions"]]
    counts = [("Desired", "integer", ""), ("Available", "integer", "")]
    assert columns == [("Name", "string", "name"), *counts, ("Age", "date", "")]
    told = [one["description"] for one in table["columnDefinitions"]]
    assert told[1:3] == ["Number of desired replicas", "Number of actual replicas"]
    assert table["rows"][0]["cells"][:3] == ["table", 3, 2]


def test_put_sets_the_replicas_and_says_who_did(server: ApiServer) -> None:
    path = make(server, "put", spec={"size": {"wanted": 3}})
    answer = ask(server, "PUT", f"{path}/scale?fieldManager=scaler", scale("put", 5))
    assert (answer.status, answer.json["spec"]) == (200, {"replicas": 5})
    obj = ask(server, "GET", path).json
    assert obj["spec"] == {"size": {"wanted": 5}}
    owners = [one["manager"] for one in obj["metadata"]["managedFields"] if "f:wanted" in str(one["fieldsV1"])]
    assert owners == ["scaler"]


def test_a_version_that_is_over_is_a_conflict(server: ApiServer) -> None:
    path = make(server, "stale", spec={"size": {"wanted": 3}})
    before = ask(server, "GET", path).json["metadata"]["resourceVersion"]
    assert ask(server, "PUT", f"{path}/scale", scale("stale", 4, resourceVersion=before)).status == 200
    assert ask(server, "PUT", f"{path}/scale", scale("stale", 5, resourceVersion=before)).status == 409


def test_patches(server: ApiServer) -> None:
    path = make(server, "patched", spec={"size": {"wanted": 3}})
    assert ask(server, "PATCH", f"{path}/scale", {"spec": {"replicas": 4}}, headers=MERGE).status == 200
    pointed = [{"op": "replace", "path": "/spec/replicas", "value": 6}]
    json_patch = {"Content-Type": "application/json-patch+json"}
    assert ask(server, "PATCH", f"{path}/scale", pointed, headers=json_patch).json["spec"] == {"replicas": 6}
    strategic = {"Content-Type": "application/strategic-merge-patch+json"}
    assert ask(server, "PATCH", f"{path}/scale", {}, headers=strategic).status == 415


def test_an_apply_may_change_managers_and_nothing_else(server: ApiServer) -> None:
    path = make(server, "applied", spec={"size": {"wanted": 3}})
    applied = f"{path}/scale?fieldManager=applier"
    not_that = "object (/{}; autoscaling/v1, Kind=Scale) to proper version: "
    invalid = "request to convert CR to an invalid group/version: autoscaling/v1"
    assert ask(server, "PATCH", applied, scale("applied", 7), headers=APPLY).status == 409
    forced = ask(server, "PATCH", f"{applied}&force=true", scale("applied", 7), headers=APPLY)
    assert (forced.status, forced.json["message"]) == (
        500,
        f"failed to convert new {not_that.format('applied')}{invalid}",
    )
    assert ask(server, "PATCH", applied, scale("applied", 3), headers=APPLY).json["spec"] == {"replicas": 3}
    managers = {one["manager"] for one in ask(server, "GET", path).json["metadata"]["managedFields"]}
    assert managers == {"applier", "maker"}
    ask(server, "PATCH", path, {"metadata": {"managedFields": [{}]}}, headers=MERGE)
    nobodys = ask(server, "PATCH", f"{applied}&force=true", scale("applied", 3), headers=APPLY)
    told = f"failed to create manager for existing fields: failed to convert live {not_that.format('')}{invalid}"
    assert (nobodys.status, nobodys.json["message"]) == (500, told)
    wrong = ask(server, "PATCH", applied, scale("applied", 3, managedFields=[]), headers=APPLY)
    assert (wrong.status, wrong.json["message"]) == (500, told)


def test_an_object_without_replicas(server: ApiServer) -> None:
    path = make(server, "without")
    refused = ask(server, "GET", f"{path}/scale")
    assert refused.status == 500
    assert 'the spec replicas field ".spec.size.wanted" does not exist' in refused.json["message"]
    empty = ask(server, "PATCH", f"{path}/scale", {"metadata": {}}, headers=MERGE)
    assert (empty.status, empty.json["message"]) == (400, 'the spec replicas field ".spec.size.wanted" cannot be empty')
    assert ask(server, "PUT", f"{path}/scale", scale("without", 2)).json["spec"] == {"replicas": 2}


def test_the_rules_are_those_of_the_object(server: ApiServer) -> None:
    path = make(server, "negative", spec={"size": {"wanted": 3}})
    refused = ask(server, "PUT", f"{path}/scale", scale("negative", -1))
    assert (refused.status, refused.json["details"]["kind"]) == (422, "Widget")
    assert refused.json["details"]["causes"][0]["field"] == ".spec.size.wanted"
