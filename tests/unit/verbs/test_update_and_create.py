"""The way of a write: metadata, preconditions, conflicts, dry runs, deletion by update."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gateway.http.status import StatusError
from gateway.jsontypes import dumps, loads
from tests.unit.verbs.conftest import Api

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
KEY = b"/registry/configmaps/default/c"
MERGE = "application/merge-patch+json"


def config_map(**data: str) -> dict[str, Any]:
    return {"metadata": {"name": "c"}, "data": data}


async def refused(answer: Any) -> StatusError:
    with pytest.raises(StatusError) as caught:
        await answer
    return caught.value


async def test_the_server_owns_a_new_object_s_metadata(api: Api) -> None:
    body = config_map(a="b")
    body["metadata"] |= {"uid": "mine", "creationTimestamp": "2001-01-01T00:00:00Z", "selfLink": "/x"}
    code, made = await api.send("POST", CONFIG_MAPS, body)
    assert code == 201
    assert made["metadata"]["uid"] != "mine"
    assert made["metadata"]["creationTimestamp"] > "2020"
    assert "selfLink" not in made["metadata"]
    stored = loads(api.store.objects[KEY].value)
    assert "resourceVersion" not in stored["metadata"]


async def test_names_are_generated_until_one_is_free(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    names = iter(["c-taken", "c-taken", "c-free1"])
    monkeypatch.setattr("gateway.kinds.metadata.generated_name", lambda prefix: next(names))
    body = {"metadata": {"generateName": "c-"}}
    await api.send("POST", CONFIG_MAPS, body)
    _, made = await api.send("POST", CONFIG_MAPS, body)
    assert made["metadata"]["name"] == "c-free1"


async def test_creating_twice_is_a_conflict(api: Api) -> None:
    await api.send("POST", CONFIG_MAPS, config_map())
    for query in ("", "dryRun=All"):
        error = await refused(api.send("POST", CONFIG_MAPS, config_map(), query=query))
        assert (error.code, error.reason, error.message) == (409, "AlreadyExists", 'configmaps "c" already exists')


async def test_a_namespace_must_exist(api: Api) -> None:
    error = await refused(api.send("POST", "/api/v1/namespaces/none/configmaps", config_map()))
    assert (error.code, error.message) == (404, 'namespaces "none" not found')


async def test_a_stale_version_is_a_conflict(api: Api) -> None:
    _, made = await api.send("POST", CONFIG_MAPS, config_map(a="1"))
    await api.send("PUT", f"{CONFIG_MAPS}/c", config_map(a="2"))
    late = config_map(a="3")
    late["metadata"]["resourceVersion"] = made["metadata"]["resourceVersion"]
    error = await refused(api.send("PUT", f"{CONFIG_MAPS}/c", late))
    assert (error.code, error.reason) == (409, "Conflict")


async def test_a_stale_cache_is_no_conflict(api: Api) -> None:
    await api.send("POST", CONFIG_MAPS, config_map(a="1"))
    api.store.stale[KEY] = api.store.objects[KEY]
    _, second = await api.send("PUT", f"{CONFIG_MAPS}/c", config_map(a="2"))
    third = config_map(a="3")
    third["metadata"]["resourceVersion"] = second["metadata"]["resourceVersion"]
    code, made = await api.send("PUT", f"{CONFIG_MAPS}/c", third)
    assert (code, made["data"]) == (200, {"a": "3"})
    api.store.stale[KEY] = None
    _, fourth = await api.send("PATCH", f"{CONFIG_MAPS}/c", {"data": {"b": "4"}}, MERGE)
    assert fourth["data"] == {"a": "3", "b": "4"}


async def test_patches_of_one_object_all_count(api: Api) -> None:
    await api.send("POST", CONFIG_MAPS, config_map())
    patches = [api.send("PATCH", f"{CONFIG_MAPS}/c", {"data": {f"k{n}": "v"}}, MERGE) for n in range(10)]
    await asyncio.gather(*patches)
    assert len(loads(api.store.objects[KEY].value)["data"]) == 10


async def test_nothing_is_written_when_nothing_changes(api: Api) -> None:
    _, made = await api.send("POST", CONFIG_MAPS, config_map(a="1"))
    writes = api.store.writes
    _, same = await api.send("PUT", f"{CONFIG_MAPS}/c", config_map(a="1"))
    _, patched = await api.send("PATCH", f"{CONFIG_MAPS}/c", {"data": {"a": "1"}}, MERGE)
    assert api.store.writes == writes
    assert made == same == patched


DIFFERENT = [(1, True), (0, False), (True, 1), ([1], [True]), ({"a": 0}, {"a": False})]
different = pytest.mark.parametrize(("before", "after"), DIFFERENT)  # though Python holds them to be equal


@different
async def test_free_form_data_that_must_not_change(api: Api, before: Any, after: Any) -> None:
    path, data = "/apis/apps/v1/namespaces/default/controllerrevisions", {"a": before}
    await api.send("POST", path, {"metadata": {"name": "c"}, "data": data, "revision": 1})
    error = await refused(api.send("PATCH", f"{path}/c", {"data": {"a": after}}, MERGE))
    assert (error.code, error.reason) == (422, "Invalid")
    path, claim = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims", {"devices": _configured(before)}
    await api.send("POST", path, {"metadata": {"name": "c"}, "spec": claim})
    error = await refused(api.send("PATCH", f"{path}/c", {"spec": {"devices": _configured(after)}}, MERGE))
    assert "field is immutable" in error.message


@different
async def test_a_number_that_becomes_a_boolean_is_written(api: Api, before: Any, after: Any) -> None:
    path = "/apis/resource.k8s.io/v1/deviceclasses"
    await api.send("POST", path, {"metadata": {"name": "c"}, "spec": _configured(before)})
    _, made = await api.send("PATCH", f"{path}/c", {"spec": _configured(after)}, MERGE, query="fieldManager=other")
    assert dumps(made["spec"]) == dumps(_configured(after))
    assert made["metadata"]["generation"] == 2
    assert [each["manager"] for each in made["metadata"]["managedFields"]] == ["other"]


def _configured(value: Any) -> dict[str, Any]:
    return {"config": [{"opaque": {"driver": "d.example.com", "parameters": {"a": value}}}]}


async def test_a_uid_in_a_put_is_a_precondition(api: Api) -> None:
    await api.send("POST", CONFIG_MAPS, config_map())
    other = config_map(a="b")
    other["metadata"]["uid"] = "11111111-2222-3333-4444-555555555555"
    error = await refused(api.send("PUT", f"{CONFIG_MAPS}/c", other))
    assert error.code == 409
    assert "Precondition failed: UID in precondition: 11111111" in error.message


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
async def test_a_dry_run_stores_nothing(api: Api, method: str) -> None:
    await api.send("POST", CONFIG_MAPS, config_map(a="1"))
    before = dict(api.store.objects)
    body = None if method == "DELETE" else config_map(a="2")
    content_type = MERGE if method == "PATCH" else "application/json"
    code, _ = await api.send(method, f"{CONFIG_MAPS}/c", body, content_type, query="dryRun=All")
    assert code == 200
    assert api.store.objects == before


async def test_only_storage_drops_a_self_link(api: Api) -> None:
    await api.send("POST", CONFIG_MAPS, config_map())
    linked = {"metadata": {"name": "c", "selfLink": "/x"}}
    for query in ("dryRun=All", ""):
        _, answer = await api.send("PUT", f"{CONFIG_MAPS}/c", linked, query=query)
        assert answer["metadata"].get("selfLink") == ("/x" if query else None)


async def test_empty_lists_have_a_manager_and_are_stored_as_none(api: Api) -> None:
    path = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
    _, made = await api.send("POST", path, {"metadata": {"name": "s"}, "addressType": "IPv4", "endpoints": []})
    assert made["endpoints"] is None
    assert "f:endpoints" in made["metadata"]["managedFields"][0]["fieldsV1"]


@pytest.mark.parametrize(
    ("path", "body", "fields", "again"),
    [
        (
            "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles",
            {"rules": [{"verbs": ["get"]}]},
            ["metadata.uid", "rules[0].apiGroups", "rules[0].resources"],
            ["metadata.uid"],
        ),
        (
            "/apis/node.k8s.io/v1/runtimeclasses",
            {"handler": "B"},
            ["metadata.uid", "handler", "handler"],
            ["metadata.uid"],
        ),
        ("/api/v1/persistentvolumes", {}, ["metadata.uid"], []),
    ],
)
@pytest.mark.parametrize("minor", ["1.36", "1.37"])
async def test_metadata_is_checked_again_where_the_kind_does(
    minor: str, path: str, body: dict[str, Any], fields: list[str], again: list[str]
) -> None:
    """1.37 tells twice no error that is found twice."""
    api = Api(minor)
    volume = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}}
    before: dict[str, dict[str, Any]] = {"runtimeclasses": {"handler": "a"}, "persistentvolumes": {"spec": volume}}
    await api.send("POST", path, {"metadata": {"name": "c"}, **before.get(path.rpartition("/")[2], {})})
    changed = {"metadata": {"uid": "another"}, **body}
    error = await refused(api.send("PATCH", f"{path}/c", changed, MERGE))
    assert error.details is not None
    found = [cause["field"] for cause in error.details["causes"]]
    assert sorted(found) == sorted(fields + (again if minor == "1.36" else []))


async def test_managers_stay_where_a_list_item_cannot_be_named(api: Api) -> None:
    path = "/api/v1/namespaces/default/serviceaccounts"
    named = {"metadata": {"name": "c"}, "secrets": [{"name": "s"}]}
    _, made = await api.send("POST", path, named)
    assert made["metadata"]["managedFields"]
    _, changed = await api.send("PUT", f"{path}/c", {**named, "secrets": [{}]})
    assert changed["metadata"]["managedFields"] == made["metadata"]["managedFields"]


@pytest.mark.parametrize("content_type", ["application/json", "application/apply-patch+yaml"])
@pytest.mark.parametrize(("minor", "kept"), [("1.36", True), ("1.37", False)])
async def test_what_only_the_server_sets_is_dropped_by_each_create_from_1_37_on(
    minor: str, kept: bool, content_type: str
) -> None:
    api, apply = Api(minor), "yaml" in content_type
    marked = {"deletionTimestamp": "2020-01-01T00:00:00Z", "deletionGracePeriodSeconds": 5}
    lease = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "c", "generation": 7} | marked,
    }
    method, query = ("PATCH", "fieldManager=m") if apply else ("PUT", "")
    path = "/apis/coordination.k8s.io/v1/namespaces/default/leases/c"
    code, made = await api.send(method, path, lease, content_type, query)
    assert code == 201 and (made["metadata"].items() >= marked.items()) is kept
    assert made["metadata"]["generation"] == 7 and made["metadata"]["creationTimestamp"] > "2021"


async def test_the_last_finalizer_takes_the_object_with_it(api: Api) -> None:
    body = config_map()
    body["metadata"]["finalizers"] = ["example.com/a"]
    await api.send("POST", CONFIG_MAPS, body)
    _, marked = await api.send("DELETE", f"{CONFIG_MAPS}/c")
    assert marked["metadata"]["deletionTimestamp"]
    error = await refused(api.send("POST", CONFIG_MAPS, config_map()))
    assert error.message == 'object is being deleted: configmaps "c" already exists'
    await api.send("PATCH", f"{CONFIG_MAPS}/c", {"metadata": {"finalizers": None}}, MERGE)
    assert KEY not in api.store.objects


async def test_delete_preconditions(api: Api) -> None:
    await api.send("POST", CONFIG_MAPS, config_map())
    error = await refused(api.send("DELETE", f"{CONFIG_MAPS}/c", {"preconditions": {"resourceVersion": "1"}}))
    assert (error.code, error.reason) == (409, "Conflict")
    code, answer = await api.send("DELETE", f"{CONFIG_MAPS}/c")
    assert (code, answer["status"], answer["details"]["kind"]) == (200, "Success", "configmaps")


async def test_some_kinds_are_created_by_a_put(api: Api) -> None:
    path = "/apis/coordination.k8s.io/v1/namespaces/default/leases/l"
    code, _ = await api.send("PUT", path, {"metadata": {"name": "l"}, "spec": {}})
    assert code == 201
    error = await refused(api.send("PUT", f"{CONFIG_MAPS}/c", config_map()))
    assert error.code == 404


async def test_a_version_is_not_given_to_a_new_object(api: Api) -> None:
    body = config_map()
    body["metadata"]["resourceVersion"] = "5"
    error = await refused(api.send("POST", CONFIG_MAPS, body))
    assert error.message == "resourceVersion should not be set on objects to be created"


async def test_unknown_fields_are_warned_of_or_refused(api: Api) -> None:
    body = {**config_map(), "datum": 1}
    await api.send("POST", CONFIG_MAPS, body, query="dryRun=All")
    assert api.warnings == ['unknown field "datum"']
    error = await refused(api.send("POST", CONFIG_MAPS, body, query="fieldValidation=Strict"))
    assert error.message.endswith('cannot be handled as a ConfigMap: strict decoding error: unknown field "datum"')


async def test_owners_given_twice_are_kept_once(api: Api) -> None:
    body = config_map()
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}
    body["metadata"]["ownerReferences"] = [owner, owner]
    _, made = await api.send("POST", CONFIG_MAPS, body)
    assert made["metadata"]["ownerReferences"] == [owner]
    assert "duplicate entries" in api.warnings[0]


async def test_an_unknown_kind_of_patch(api: Api) -> None:
    error = await refused(api.send("PATCH", f"{CONFIG_MAPS}/c", b"{}", "text/plain"))
    assert error.code == 415


async def test_a_scale_writes_its_workload(api: Api) -> None:
    path = "/apis/apps/v1/namespaces/default/deployments"
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    await api.send("POST", path, {"metadata": {"name": "d"}, "spec": spec})
    _, scale = await api.send("PATCH", f"{path}/d/scale", {"spec": {"replicas": 5}}, MERGE)
    assert scale["spec"] == {"replicas": 5}
    assert scale["status"] == {"replicas": 0, "selector": "a=b"}
    stored = loads(api.store.objects[b"/registry/deployments/default/d"].value)
    assert stored["spec"]["replicas"] == 5
    assert stored["metadata"]["generation"] == 2
    assert {each.get("subresource") for each in stored["metadata"]["managedFields"]} == {None, "scale"}


async def test_a_pod_is_bound_once(api: Api) -> None:
    path = "/api/v1/namespaces/default/pods"
    await api.send("POST", path, {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}})
    error = await refused(api.send("POST", f"{path}/p/binding", {"metadata": {"name": "p"}, "target": {"kind": "Pod"}}))
    assert error.details is not None
    assert (error.code, [cause["field"] for cause in error.details["causes"]]) == (422, ["target.kind", "target.name"])
    binding = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}}
    code, answer = await api.send("POST", f"{path}/p/binding", binding)
    assert (code, answer["status"]) == (201, "Success")
    stored = loads(api.store.objects[b"/registry/pods/default/p"].value)
    assert stored["spec"]["nodeName"] == "n"
    error = await refused(api.send("POST", f"{path}/p/binding", binding))
    assert error.message.endswith('pod p is already assigned to node "n"')


async def test_a_budget_keeps_a_pod(api: Api) -> None:
    path = "/api/v1/namespaces/default/pods"
    pod = {"metadata": {"name": "p", "labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    await api.send("POST", path, pod)
    running = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    await api.send("PATCH", f"{path}/p/status", {"status": running}, MERGE)
    budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}}
    await api.send("POST", budgets, {"metadata": {"name": "b"}, "spec": spec})
    error = await refused(api.send("POST", f"{path}/p/eviction", {"metadata": {"name": "p"}}))
    assert error.code == 429
    allowing = {"observedGeneration": 1, "disruptionsAllowed": 1, "currentHealthy": 2, "desiredHealthy": 1}
    await api.send("PATCH", f"{budgets}/b/status", {"status": {**allowing, "expectedPods": 2}}, MERGE)
    code, _ = await api.send("POST", f"{path}/p/eviction", {"metadata": {"name": "p"}})
    assert code == 201
    assert b"/registry/pods/default/p" not in api.store.objects
    budget = loads(api.store.objects[b"/registry/poddisruptionbudgets/default/b"].value)
    state, by = (
        budget["status"],
        [(each["manager"], each.get("subresource")) for each in budget["metadata"]["managedFields"]],
    )
    assert ("kube-apiserver", "status") in by
    assert (state["disruptionsAllowed"], list(state["disruptedPods"])) == (0, ["p"])


@pytest.mark.parametrize(
    ("path", "applied", "why"),
    [
        (
            CONFIG_MAPS,
            {"apiVersion": "v1", "kind": "ConfigMap", "binaryData": {"a": "%"}},
            "/v1, Kind=ConfigMap: error decoding from json: illegal base64 data at input byte 0",
        ),
        (
            "/apis/apps/v1/namespaces/default/deployments",
            {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": 1.5}},
            "apps/v1, Kind=Deployment: cannot convert float64 to int32",
        ),
    ],
)
async def test_applied_values_that_the_schema_lets_pass_and_no_type_takes(
    api: Api, path: str, applied: dict[str, Any], why: str
) -> None:
    sent = api.send("PATCH", f"{path}/c", applied, content_type="application/apply-patch+yaml", query="fieldManager=m")
    error = await refused(sent)
    assert error.code == 500
    assert error.message.endswith(f"to proper version: unable to convert unstructured object to {why}")


async def test_a_token_is_not_bound_to_what_no_path_can_name(api: Api) -> None:
    await api.send("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "a"}})
    bound = {"kind": "Secret", "apiVersion": "v1", "name": "a/b"}
    path = "/api/v1/namespaces/default/serviceaccounts/a/token"
    error = await refused(api.send("POST", path, {"spec": {"boundObjectRef": bound}}))
    assert (error.code, error.message) == (400, "Name parameter invalid: \"a/b\": may not contain '/'")


async def test_a_new_budget_s_metadata_is_looked_at_last(api: Api) -> None:
    """Errors in the name or labels are not reported while the specification is invalid."""
    path = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
    meta = {"name": "b", "labels": {"a b": "c"}}
    error = await refused(api.send("POST", path, {"metadata": meta, "spec": {"minAvailable": -1}}))
    assert [cause["field"] for cause in error.details["causes"]] == ["spec.minAvailable"]
    error = await refused(api.send("POST", path, {"metadata": meta, "spec": {"minAvailable": 1}}))
    assert [cause["field"] for cause in error.details["causes"]] == ["metadata.labels"]


async def test_a_refusal_shows_a_whole_float_as_it_came(api: Api) -> None:
    await api.send("POST", CONFIG_MAPS, config_map())
    error = await refused(api.send("PATCH", f"{CONFIG_MAPS}/c", b'{"metadata":{"generation":2.0}}', MERGE))
    words = "json: cannot unmarshal number 2.0 into Go struct field ObjectMeta.metadata.generation of type int64"
    assert (error.code, error.message.endswith(words)) == (422, True)
