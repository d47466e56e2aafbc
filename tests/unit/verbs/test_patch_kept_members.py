"""A patch that shares unchanged parts with the old object has the same result as one that copies."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from datetime import datetime, tzinfo
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.admission.metrics import ADMIT, AdmissionHalf, timed
from gateway.admission.record import Admission
from gateway.defaults import devices
from gateway.endpoints.endpoint import Endpoint
from gateway.http.status import StatusError
from gateway.jsontypes import JsonObject, dumps, loads
from gateway.kinds.attributes import Operation
from gateway.kinds.builtin import builtin_registry
from gateway.kinds.resource import Resource
from gateway.kinds.write_context import WriteContext
from gateway.schema.decode import DecodeReport, decode
from gateway.writing import update, write
from gateway.writing.unchanged_members import Touched, keeps, kept
from tests.examples import examples
from tests.samples import samples
from tests.unit.verbs.conftest import Api

MERGE, STRATEGIC, JSON = (f"application/{kind}-patch+json" for kind in ("merge", "strategic-merge", "json"))
REGISTRY = builtin_registry()
DEFAULT = b"/registry/namespaces/default"
NOW = "2026-01-02T03:04:05Z"
OWNED = {"f:metadata": {"f:labels": {".": {}, "f:a": {}}}, "f:spec": {"f:replicas": {}, "f:paused": {}}}
METADATA: JsonObject = {
    "name": "it",
    "uid": "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
    "creationTimestamp": NOW,
    "labels": {"a": "1"},
    "annotations": {"b": "2"},
}
PATCHES: tuple[tuple[str, Any], ...] = (
    (MERGE, {"metadata": {"annotations": {"c": "3"}}}),
    (MERGE, {"metadata": {"annotations": {"controller.kubernetes.io/pod-deletion-cost": "much"}}}),
    (MERGE, {"metadata": {"annotations": {"kubernetes.io/config.mirror": "x"}, "labels": {"a": "not a value"}}}),
    (MERGE, {"metadata": {"finalizers": ["example.com/f"], "labels": None}, "spec": {"unknown": 1}}),
    (MERGE, {"metadata": {"labels": {"a": "1"}}}),
    (MERGE, {"status": {"conditions": None, "phase": "Failed"}}),
    (MERGE, {"spec": None}),
    (STRATEGIC, {"metadata": {"ownerReferences": [{"kind": "A", "apiVersion": "v1", "name": "n", "uid": "u"}]}}),
    (STRATEGIC, {"status": {"conditions": [{"type": "Ready", "status": "True"}]}, "metadata": {"uid": "other"}}),
    (JSON, [{"op": "add", "path": "/metadata/labels/c", "value": "3"}]),
    (JSON, [{"op": "remove", "path": "/metadata/annotations"}, {"op": "test", "path": "/spec", "value": 1}]),
    (JSON, [{"op": "copy", "from": "/spec", "path": "/status"}]),
)


def patched_resources() -> list[Resource]:
    """The resources and subresources that can be patched."""
    return [each for each in REGISTRY.resources.values() if "patch" in each.verbs and each.subresource != "proxy"]


def metadata_in(namespaced: bool, api_version: str) -> JsonObject:
    manager = {"manager": "m", "operation": "Update", "time": NOW, "fieldsType": "FieldsV1", "fieldsV1": OWNED}
    namespace = {"namespace": "default"} if namespaced else {}
    return {**METADATA, **namespace, "managedFields": [{**manager, "apiVersion": api_version}]}


def put(api: Api, endpoint: Endpoint, sample: JsonObject) -> None:
    """Stores only this object, as an older server would have left it."""
    namespace = api.store.objects[DEFAULT]
    api.store.objects.clear()
    api.store.objects[DEFAULT] = namespace
    metadata = metadata_in(endpoint.resource.namespaced, endpoint.resource.api_version)
    obj = decode(endpoint.type, {**sample, "metadata": metadata}, DecodeReport())
    endpoint.resource.default(obj)
    obj = obj if endpoint.to_storage is None else endpoint.to_storage(obj)
    api.store.revision = 1
    api.store._put(endpoint.key("default", "it"), endpoint.written.encode(obj))


async def outcome(api: Api, sample: JsonObject, resource: Resource, media_type: str, patch: Any) -> tuple[Any, ...]:
    """The result of a patch: the answer or the refusal, the warnings, and the stored value."""
    endpoint = api.endpoints.of(resource.group, resource.version, resource.resource)
    put(api, endpoint, sample)
    place = f"/apis/{resource.group}/{resource.version}" if resource.group else f"/api/{resource.version}"
    namespace = "/namespaces/default" if resource.namespaced else ""
    subresource = f"/{resource.subresource}" if resource.subresource else ""
    path = f"{place}{namespace}/{resource.resource}/it{subresource}"
    answer: Any
    api.warnings = []
    try:
        answer = await api.send("PATCH", path, dumps(patch), media_type, "fieldValidation=Warn")
    except StatusError as error:
        answer = (error.code, error.message, error.details)
    found = api.store.objects.get(endpoint.key("default", "it"))
    return answer, api.warnings, found and found.value


class _StandingStill(datetime):
    """A clock that stands still, for defaults with the present time: two patches may run in different seconds."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> _StandingStill:
        return cls(2026, 1, 2, 3, 4, 5, tzinfo=tz)


async def both_ways(*given: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The results of a patch with shared parts, and of one that copies."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(write, "now_text", lambda: NOW)
        patched.setattr(devices, "datetime", _StandingStill)
        sharing = await outcome(*given)
        patched.setattr(update, "keeps", lambda endpoint: False)
        return sharing, await outcome(*given)


@pytest.fixture
def api() -> Api:
    made = Api()
    made.endpoints.services.settings = replace(made.endpoints.services.settings, event_ttl=0)  # there are no leases
    return made


@pytest.mark.parametrize(
    "resource", patched_resources(), ids=lambda each: f"{each.version}-{each.qualified}-{each.subresource}"
)
async def test_sharing_changes_nothing(api: Api, resource: Resource) -> None:
    parent = REGISTRY.resources[resource.group, resource.version, resource.resource, ""]
    for _, sample in samples(*parent.gvk):
        for media_type, patch in PATCHES:
            sharing, apart = await both_ways(api, sample, resource, media_type, patch)
            assert sharing == apart, (media_type, patch)


POD: JsonObject = {
    "spec": {
        "containers": [{"name": "c", "image": "i", "env": [{"name": "E", "value": "v"}]}],
        "tolerations": [{"key": "k", "operator": "Exists", "effect": "NoSchedule", "tolerationSeconds": 3}],
        "activeDeadlineSeconds": 9,
    },
    "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}], "podIP": "10.0.0.1"},
}


def paths(value: Any, prefix: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """The paths of all members that are not inside lists."""
    if not isinstance(value, dict):
        return [prefix]
    return [prefix] * bool(prefix) + [path for name, inner in value.items() for path in paths(inner, (*prefix, name))]


def merge_patch(changes: list[tuple[tuple[str, ...], Any]]) -> JsonObject:
    """A merge patch with the given changes; later ones win if they contradict."""
    patch: JsonObject = {}
    for (*way, last), value in changes:
        holder = patch
        for name in way:
            inner = holder.get(name)
            holder[name] = holder = inner if isinstance(inner, dict) else {}
        holder[last] = deepcopy(value)
    return patch


WAYS = paths({"metadata": metadata_in(True, "v1") | {"finalizers": []}, **POD})
VALUES = st.sampled_from([None, "x", 1, {}, [], {"a": "b"}, [{"name": "c", "image": "j"}], POD["status"]])


@given(st.lists(st.tuples(st.sampled_from(WAYS), VALUES), min_size=1, max_size=4), st.sampled_from(["", "status"]))
@settings(
    max_examples=examples(150),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
async def test_sharing_changes_nothing_of_any_patch(
    api: Api, changes: list[tuple[tuple[str, ...], Any]], subresource: str
) -> None:
    resource = REGISTRY.resources["", "v1", "pods", subresource]
    sharing, apart = await both_ways(api, POD, resource, MERGE, merge_patch(changes))
    assert sharing == apart


def test_what_is_kept_is_what_the_patch_did_not_name() -> None:
    old: JsonObject = {"metadata": {"name": "n"}, "spec": {"a": 1}, "status": {"b": 2}, "other": "c", "empty": {}}
    found = kept(old, {**old, "status": {"b": 2}})
    assert found is not None
    assert [name for name in old if name in found] == ["spec"]
    assert kept(old, "no object") is None


def test_managed_fields_that_a_patch_leaves_alone_are_not_read_anew() -> None:
    managers = [{"manager": "m"}]
    old: JsonObject = {"metadata": {"name": "n", "managedFields": managers}, "spec": {"a": 1}}
    left: JsonObject = {**old, "metadata": {**old["metadata"], "labels": {"b": "c"}}}
    found = kept(old, left)
    assert found is not None
    new = found.apart_from(left)
    assert new == {"metadata": {"name": "n", "labels": {"b": "c"}}}
    found.put_into(new)
    assert new == left and new["metadata"]["managedFields"] is managers
    sent = kept(old, {**old, "metadata": {**old["metadata"], "managedFields": []}})
    assert sent is not None
    assert sent.apart_from({"metadata": {"managedFields": []}}) == {"metadata": {"managedFields": []}}


def test_a_kept_member_that_is_changed_in_place_is_noticed() -> None:
    old: JsonObject = {"metadata": {}, "spec": {"a": [1]}}
    found = kept(old, dict(old))
    assert found is not None
    found.check()
    old["spec"]["a"].append(2)
    assert not found.is_intact()
    with pytest.raises(Touched):
        found.check()


@pytest.mark.parametrize("stage", ["admission", "strategy"])
async def test_who_changes_what_is_kept_changes_the_object(api: Api, stage: str) -> None:
    """After a strategy, which changes it in place, the write is repeated with a separate copy of the object."""
    resource = REGISTRY.resources["", "v1", "configmaps", ""]
    endpoint = api.endpoints.of("", "v1", "configmaps")

    def changes(obj: JsonObject, old: JsonObject, context: WriteContext) -> None:
        assert old["data"] == {"a": "1"} or obj["data"] is old["data"]
        obj["data"]["b"] = "2"

    async def admits(admission: Admission) -> Admission:
        assert admission.obj is not None
        return admission.changed({**admission.obj, "data": {**admission.obj["data"], "b": "2"}})

    if stage == "admission":
        endpoint.chain.mutating[Operation.UPDATE] = AdmissionHalf(
            [timed(admits, "Any", ADMIT, Operation.UPDATE)], ADMIT, Operation.UPDATE
        )
    else:
        endpoint.__dict__["strategy"] = replace(endpoint.strategy, prepare_for_update=changes)
    patch = {"metadata": {"labels": {"c": "d"}}}
    sharing, apart = await both_ways(api, {"data": {"a": "1"}}, resource, MERGE, patch)
    assert sharing == apart
    assert loads(sharing[2])["data"] == {"a": "1", "b": "2"}


def test_only_what_is_stored_as_it_is_served_is_shared(api: Api) -> None:
    shared = {each.qualified for each in patched_resources() if keeps(api.endpoints.of(*each.gvr, each.subresource))}
    assert {"pods", "configmaps", "deployments.apps", "nodes"} <= shared
    assert "services" not in shared, "addresses are allocated for them"
    assert not keeps(api.endpoints.of("", "v1", "replicationcontrollers", "scale"))
    assert not keeps(api.endpoints.of("autoscaling", "v1", "horizontalpodautoscalers"))
