"""Server-side apply: merging, conflicts, shared ownership, dropped fields (API Concepts, "Server Side Apply")."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from gateway.apply import server_side_apply, update_managed
from gateway.apply.last_applied import ANNOTATION
from gateway.apply.nonconformity import nonconformity
from gateway.customresources.schema_type import schema_type
from gateway.http.status import StatusError
from gateway.jsontypes import JsonObject, dumps
from gateway.schema.catalog import type_for

DEPLOYMENT = type_for("apps", "v1", "Deployment")
CONFIG_MAP = type_for("", "v1", "ConfigMap")


def configuration(metadata: JsonObject | None = None, **spec: Any) -> JsonObject:
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", **(metadata or {})}, "spec": spec}


def containers(*items: JsonObject) -> JsonObject:
    return {"spec": {"containers": list(items)}}


def apply(live: JsonObject | None, config: JsonObject, manager: str = "m", **options: Any) -> JsonObject:
    before = copy.deepcopy((live, config))
    options.setdefault("force", False)
    options.setdefault("now", "t1")
    result = server_side_apply(live, config, DEPLOYMENT, manager=manager, api_version="apps/v1", **options)
    assert (live, config) == before
    return result


def fields(value: JsonObject) -> dict[str, Any]:
    return {entry["manager"]: entry["fieldsV1"] for entry in value["metadata"].get("managedFields", [])}


def failure(live: JsonObject | None, config: JsonObject, manager: str = "m", **options: Any) -> StatusError:
    with pytest.raises(StatusError) as caught:
        apply(live, config, manager, **options)
    return caught.value


def test_creating_claims_what_was_applied() -> None:
    result = apply(None, configuration(replicas=1, template=containers({"name": "c", "args": ["x"]})))
    assert result["metadata"]["managedFields"] == [
        {
            "manager": "m",
            "operation": "Apply",
            "apiVersion": "apps/v1",
            "time": "t1",
            "fieldsType": "FieldsV1",
            "fieldsV1": {
                "f:spec": {
                    "f:replicas": {},
                    "f:template": {
                        "f:spec": {"f:containers": {'k:{"name":"c"}': {".": {}, "f:args": {}, "f:name": {}}}}
                    },
                }
            },
        }
    ]


def test_applying_the_same_again_gives_back_the_live_object_itself() -> None:
    live = apply(None, configuration(replicas=1))
    assert apply(live, configuration(replicas=1), now="t2") is live


def test_an_applier_of_the_same_values_shares_them_without_a_time() -> None:
    live = apply(None, configuration(replicas=1))
    shared = apply(live, configuration(replicas=1), "other", now="t2")
    assert shared["spec"] == live["spec"]
    assert [entry.get("time") for entry in shared["metadata"]["managedFields"]] == [None, "t1"]


def test_conflict_names_manager_and_field() -> None:
    live = apply(None, configuration(replicas=1), "first")
    error = failure(live, configuration(replicas=2), "second")
    assert (error.code, error.reason) == (409, "Conflict")
    assert error.message == 'Apply failed with 1 conflict: conflict with "first": .spec.replicas'
    assert error.details == {
        "causes": [{"reason": "FieldManagerConflict", "message": 'conflict with "first"', "field": ".spec.replicas"}]
    }


def test_conflicts_are_listed_by_manager_with_version_of_updates() -> None:
    live = apply(None, configuration(replicas=1, template=containers({"name": "c", "image": "i"})), "first")
    updated = copy.deepcopy(live)
    updated["spec"]["paused"] = True
    update_managed(updated, live, DEPLOYMENT, manager="b", api_version="apps/v1", subresource="scale", now="t1")
    config = configuration(replicas=2, paused=False, template=containers({"name": "c", "image": "j"}))
    assert failure(updated, config, "second").message == (
        "Apply failed with 3 conflicts: "
        'conflicts with "b" with subresource "scale" using apps/v1:\n- .spec.paused\n'
        'conflicts with "first":\n- .spec.replicas\n- .spec.template.spec.containers[name="c"].image'
    )


def test_force_takes_the_fields() -> None:
    live = apply(None, configuration(replicas=1), "first")
    result = apply(live, configuration(replicas=2), "second", force=True)
    assert result["spec"]["replicas"] == 2
    assert fields(result) == {"second": {"f:spec": {"f:replicas": {}}}}


def test_dropped_fields_go_unless_somebody_else_owns_them() -> None:
    live = apply(None, configuration({"labels": {"a": "1", "b": "2"}}, replicas=1), "first")
    live = apply(live, configuration({"labels": {"b": "2"}}), "second")
    result = apply(live, configuration(replicas=1), "first")
    assert result["metadata"]["labels"] == {"b": "2"}
    assert result["metadata"]["name"] == "d"
    result = apply(result, configuration(), "second")
    assert "labels" not in result["metadata"] or not result["metadata"]["labels"]


def test_dropped_item_stays_while_another_owns_a_field_in_it() -> None:
    live = apply(None, configuration(template=containers({"name": "c", "image": "i"}, {"name": "d"})), "first")
    live = apply(live, configuration(template=containers({"name": "c", "args": ["x"]})), "second")
    result = apply(live, configuration(template=containers({"name": "d"})), "first")
    assert result["spec"]["template"]["spec"]["containers"] == [{"name": "c", "args": ["x"]}, {"name": "d"}]


def test_fields_that_updaters_added_to_a_dropped_map_stay() -> None:
    live = apply(None, configuration({"labels": {"a": "1"}}))
    updated = copy.deepcopy(live)
    updated["metadata"]["labels"]["u"] = "2"
    update_managed(updated, live, DEPLOYMENT, manager="u", api_version="apps/v1", now="t1")
    assert apply(updated, configuration())["metadata"]["labels"] == {"u": "2"}


@pytest.mark.parametrize(
    ("live", "applied", "order"),
    [
        ("abc", "c", "abc"),
        ("abc", "ca", "bca"),
        ("abc", "dc", "abdc"),
        ("ab", "cd", "abcd"),
        ("abcd", "dxb", "acdxb"),
    ],
)
def test_order_of_merged_items(live: str, applied: str, order: str) -> None:
    def pod(names: str) -> JsonObject:
        return configuration(template=containers(*({"name": name} for name in names)))

    result = apply(apply(None, pod(live), "first"), pod(applied), "second")
    assert "".join(item["name"] for item in result["spec"]["template"]["spec"]["containers"]) == order


def test_object_without_managers_gets_one_for_what_was_there_before() -> None:
    live = configuration(replicas=1) | {"metadata": {"name": "d", "uid": "u"}}
    assert failure(live, configuration(replicas=2)).message == (
        'Apply failed with 1 conflict: conflict with "before-first-apply" using apps/v1: .spec.replicas'
    )
    assert set(fields(apply(live, configuration(replicas=1)))) == {"before-first-apply", "m"}


def test_duplicates_in_the_live_object_are_left_alone_or_replaced_by_the_applied() -> None:
    env = [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]
    live = configuration(template=containers({"name": "c", "env": env})) | {"metadata": {"name": "d", "uid": "u"}}
    beside = configuration(template=containers({"name": "c", "env": [{"name": "B"}]}))
    assert apply(live, beside)["spec"]["template"]["spec"]["containers"][0]["env"] == [*env, {"name": "B"}]
    same = configuration(template=containers({"name": "c", "env": [{"name": "A", "value": "3"}]}))
    result = apply(live, same, force=True)
    assert result["spec"]["template"]["spec"]["containers"][0]["env"] == [{"name": "A", "value": "3"}]


@pytest.mark.parametrize(
    ("config", "code", "message"),
    [
        (configuration({"managedFields": []}), 400, "metadata.managedFields must be nil"),
        (configuration() | {"kind": "Pod"}, 400, "invalid object type: apps/v1, Kind=Pod"),
        (configuration() | {"apiVersion": "v1"}, 400, "invalid object type: /v1, Kind=Deployment"),
        (
            configuration(template=containers({"name": "c", "env": [{"name": "B"}, {"name": "B"}]})),
            500,
            "failed to create typed patch object (/d; apps/v1, Kind=Deployment): "
            '.spec.template.spec.containers[name="c"].env: duplicate entries for key [name="B"]',
        ),
        (
            configuration({"namespace": "n", "finalizers": ["x", "x"]}, foo=1),
            500,
            "failed to create typed patch object (n/d; apps/v1, Kind=Deployment): errors:\n"
            '  .metadata.finalizers: duplicate entries for key [="x"]\n'
            "  .spec.foo: field not declared in schema",
        ),
        (
            configuration(replicas="3", paused="x"),
            500,
            "failed to create typed patch object (/d; apps/v1, Kind=Deployment): errors:\n"
            "  .spec.replicas: expected numeric (int or float), got string\n"
            "  .spec.paused: expected boolean, got &{x}",
        ),
        (
            configuration({"name": 5}),
            500,
            "failed to create typed patch object (/; apps/v1, Kind=Deployment): "
            ".metadata.name: expected string, got &value.valueUnstructured{Value:5}",
        ),
    ],
)
def test_configuration_that_can_not_be_applied(config: JsonObject, code: int, message: str) -> None:
    error = failure(None, config)
    assert (error.code, error.message) == (code, message)


def test_kubectl_takes_over_what_its_client_side_apply_set() -> None:
    last = dumps(configuration(replicas=1)).decode()
    live = configuration({"uid": "u", "annotations": {ANNOTATION: last}}, replicas=1, paused=True)
    assert failure(live, configuration(replicas=2), "other").code == 409
    result = apply(live, configuration(replicas=2), "kubectl")
    assert result["spec"]["replicas"] == 2
    assert result["metadata"]["annotations"][ANNOTATION] == (
        '{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":{"replicas":2}}\n'
    )
    error = failure(live, configuration(replicas=2, paused=False), "kubectl")
    assert [cause["field"] for cause in (error.details or {})["causes"]] == [".spec.paused"]


def test_reset_fields_are_merged_but_not_claimed() -> None:
    config = configuration(replicas=1) | {"status": {"replicas": 3}}
    assert fields(apply(None, config, reset=(("status",),))) == {"m": {"f:spec": {"f:replicas": {}}}}


@pytest.mark.parametrize(
    ("format", "value", "problem"),
    [
        ("date", 1, None),
        ("date", {"b": 1}, ".a: expected any scalar, got &{map[b:1]}"),
        ("byte", 1, ".a: expected string, got &value.valueUnstructured{Value:1}"),
    ],
)
def test_what_a_string_with_a_format_may_be_is_left_to_validation(format: str, value: Any, problem: str | None) -> None:
    type_ = schema_type({"type": "object", "properties": {"a": {"type": "string", "format": format}}})
    assert nonconformity({"a": value}, type_) == problem


@pytest.mark.parametrize(("value", "problem"), [({"b": [1]}, None), (None, None), (1, ".a: expected map, got &{1}")])
def test_an_object_of_which_nothing_is_said_is_one_all_the_same(value: Any, problem: str | None) -> None:
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    type_ = schema_type({"type": "object", "properties": {"a": free}})
    assert nonconformity({"a": value}, type_) == problem


@pytest.mark.parametrize("value", [1, "50%", 1.5, True, {}, []])
def test_whether_an_int_or_string_is_one_is_left_to_the_conversion(value: Any) -> None:
    budget = type_for("policy", "v1", "PodDisruptionBudget")
    assert nonconformity({"spec": {"maxUnavailable": value}}, budget) is None


def test_errors_of_a_configuration_are_few_and_their_paths_short() -> None:
    """Each of many wrong items would name the same long key."""
    schema = {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "integer"}}}
    type_, key = schema_type(schema), "k" * 500_000
    many, long = nonconformity({"a": ["x"] * 50_000}, type_), nonconformity({key: ["x"] * 50_000}, type_)
    assert many is not None and many.count("\n") == 2_000 and ".a[1999]: expected numeric" in many
    assert long is not None and len(long) < 300_000 and ".kkk" in long


def test_duplicates_that_are_allowed_hide_no_error() -> None:
    names = {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}
    type_ = schema_type({"type": "object", "properties": {"a": names, "b": {"type": "integer"}}})
    value = {"a": ["x"] * 3_000, "b": "y"}
    assert nonconformity(value, type_, duplicates=True) == ".b: expected numeric (int or float), got string"
