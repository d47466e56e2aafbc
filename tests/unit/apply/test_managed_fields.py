"""managedFields of creates, updates and patches (API Concepts, "Server Side Apply")."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from gateway.apply import keep_timestamps, update_managed
from gateway.customresources.schema_type import object_type
from gateway.jsontypes import JsonObject
from gateway.schema.catalog import type_for
from gateway.schema.types import Type

CONFIG_MAP = type_for("", "v1", "ConfigMap")
DEPLOYMENT = type_for("apps", "v1", "Deployment")
SERVICE = type_for("", "v1", "Service")


def config_map(**data: str) -> JsonObject:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "uid": "u"}, "data": data}


def write(new: JsonObject, old: JsonObject | None, manager: str = "m", now: str = "t1", **options: Any) -> JsonObject:
    new = copy.deepcopy(new)
    if old is not None and "managedFields" not in new["metadata"]:
        new["metadata"]["managedFields"] = copy.deepcopy(old["metadata"].get("managedFields"))
    before = copy.deepcopy(old)
    options.setdefault("api_version", "v1")
    update_managed(new, old, options.pop("type_", CONFIG_MAP), manager=manager, now=now, **options)
    assert old == before
    return new


def entries(written: JsonObject) -> list[tuple[str, str, str | None, Any]]:
    fields = written["metadata"].get("managedFields", [])
    return [(e["manager"], e["operation"], e.get("time"), e["fieldsV1"]) for e in fields]


def test_creator_owns_what_it_set_but_nothing_of_the_servers_metadata() -> None:
    written = write(config_map(a="1"), None)
    assert written["metadata"]["managedFields"] == [
        {
            "manager": "m",
            "operation": "Update",
            "apiVersion": "v1",
            "time": "t1",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {".": {}, "f:a": {}}},
        }
    ]


def test_structs_and_lists_that_are_always_there_are_not_members() -> None:
    new = {
        "metadata": {"name": "d"},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": "d"}},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}},
            "template": {
                "metadata": {"labels": {"app": "d"}},
                "spec": {"containers": [{"name": "c", "resources": {}, "env": [{"name": "E"}, {"name": "E"}]}]},
            },
        },
        "status": {},
    }
    written = write(new, None, type_=DEPLOYMENT, api_version="apps/v1")
    assert entries(written)[0][3] == {
        "f:spec": {
            "f:replicas": {},
            "f:selector": {},
            "f:strategy": {"f:rollingUpdate": {".": {}, "f:maxSurge": {}}, "f:type": {}},
            "f:template": {
                "f:metadata": {"f:labels": {".": {}, "f:app": {}}},
                "f:spec": {
                    "f:containers": {
                        'k:{"name":"c"}': {
                            ".": {},
                            "f:env": {".": {}, 'k:{"name":"E"}': {}},
                            "f:name": {},
                            "f:resources": {},
                        }
                    }
                },
            },
        }
    }


def test_list_keys_have_their_defaults() -> None:
    new = {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 443}, {"port": 80, "protocol": "UDP"}]}}
    ports = entries(write(new, None, type_=SERVICE))[0][3]["f:spec"]["f:ports"]
    assert list(ports) == [".", 'k:{"port":80,"protocol":"UDP"}', 'k:{"port":443,"protocol":"TCP"}']


def test_who_changes_a_field_takes_it_and_only_changed_entries_get_a_time() -> None:
    first = write(config_map(a="1", b="2"), None, "one")
    second = write(config_map(a="1", b="3", c="4"), first, "two", "t2")
    assert entries(second) == [
        ("one", "Update", "t1", {"f:data": {".": {}, "f:a": {}}}),
        ("two", "Update", "t2", {"f:data": {"f:b": {}, "f:c": {}}}),
    ]


def test_write_without_a_change_leaves_all_as_it_is() -> None:
    first = write(config_map(a="1"), None)
    assert entries(write(config_map(a="1"), first, "other", "t2")) == entries(first)


def test_what_a_definition_made_atomic_is_owned_as_a_whole_by_the_next_write() -> None:
    def type_(map_type: str) -> Type:
        spec = {"type": "object", "properties": {"a": {"type": "string"}}, "x-kubernetes-map-type": map_type}
        return object_type({"type": "object", "properties": {"spec": spec}}, "Pond")

    obj: JsonObject = {"apiVersion": "v1", "kind": "Pond", "metadata": {"name": "p"}, "spec": {"a": "x"}}
    first = write(obj, None, type_=type_("granular"))
    assert entries(first)[0][3] == {"f:spec": {".": {}, "f:a": {}}}
    assert entries(write(obj, first, type_=type_("atomic"))) == [("m", "Update", "t1", {"f:spec": {}})]


def test_removed_fields_have_no_owner_and_managers_without_fields_go() -> None:
    first = write(config_map(a="1"), None)
    new = config_map()
    del new["data"]
    assert "managedFields" not in write(new, first, "two", "t2")["metadata"]


def test_reset_fields_are_never_owned() -> None:
    new = {"metadata": {"name": "d"}, "spec": {"replicas": 1}, "status": {"replicas": 1}}
    written = write(new, None, type_=DEPLOYMENT, api_version="apps/v1", reset=(("status",),))
    assert entries(written)[0][3] == {"f:spec": {"f:replicas": {}}}


def test_one_empty_entry_or_an_empty_list_resets_and_tracking_does_not_start_again() -> None:
    first = write(config_map(a="1"), None)
    resets: list[list[JsonObject]] = [[{}], []]
    for sent in resets:
        new = config_map(a="2")
        new["metadata"]["managedFields"] = sent
        cleared = write(new, first, now="t2")
        assert "managedFields" not in cleared["metadata"]
        assert "managedFields" not in write(config_map(a="3"), cleared)["metadata"]


@pytest.mark.parametrize("value", [0, "", False, [], "x", {"f:data": 0}, {"f:data": ""}])
def test_an_entry_whose_fields_are_no_field_set_means_the_live_entries(value: object) -> None:
    old = write(config_map(a="1"), None, manager="first")
    new = config_map(a="2")
    new["metadata"]["managedFields"] = [{**entry("v1"), "fieldsV1": value}]
    assert [each[0] for each in entries(write(new, old))] == ["first", "m"]


@pytest.mark.parametrize("value", [None, {}, {".": {}}, {"x:unknown": {}}])
def test_an_entry_without_fields_takes_the_place_of_the_live_entries(value: object) -> None:
    old = write(config_map(a="1"), None, manager="first")
    new = config_map(a="2")
    new["metadata"]["managedFields"] = [{**entry("v1"), "fieldsV1": value}]
    assert [each[0] for each in entries(write(new, old))] == ["m"]


def test_invalid_or_missing_entries_mean_those_of_the_live_object() -> None:
    first = write(config_map(a="1"), None)
    for sent in (None, [{"manager": "x", "operation": "Guess", "apiVersion": "v1"}], [{"fieldsV1": {"bad": 1}}]):
        new = config_map(a="1")
        new["metadata"]["managedFields"] = sent
        assert entries(write(new, first)) == entries(first)


def test_entries_that_own_nothing_are_not_taken_from_the_client() -> None:
    old = write(config_map(a="1"), None, "creator")
    nothing = {**old["metadata"]["managedFields"][0], "manager": "other", "fieldsV1": {}}
    new = config_map(a="1")
    new["metadata"]["managedFields"] = [*old["metadata"]["managedFields"], nothing]
    assert [entry[0] for entry in entries(write(new, old))] == ["creator"]
    new["metadata"]["managedFields"] = [nothing]
    assert "managedFields" not in write(new, old)["metadata"]


def test_valid_entries_are_taken_from_the_client_but_not_through_a_subresource() -> None:
    first = write(config_map(a="1"), None)
    new = config_map(a="1")
    sent: JsonObject = {
        "manager": "x",
        "operation": "Apply",
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:x": {}},
    }
    new["metadata"]["managedFields"] = [sent]
    assert entries(write(new, first)) == [("x", "Apply", None, {"f:x": {}})]
    assert entries(write(new, first, subresource="status")) == entries(first)


def test_no_more_than_ten_update_managers() -> None:
    written = write(config_map(k0="x"), None, "m0", "t00")
    for i in range(1, 13):
        data = written["data"] | {f"k{i}": "x"}
        written = write(config_map(**data), written, f"m{i:02}", f"t{i:02}")
    managers = [entry[0] for entry in entries(written)]
    assert len(managers) == 10
    assert managers[0] == "ancient-changes"
    assert entries(written)[0][3] == {"f:data": {".": {}, **{f"f:k{i}": {} for i in range(4)}}}


def test_entries_are_ordered_by_operation_time_and_name() -> None:
    first = write(config_map(a="1"), None, "z", "t1")
    second = write(config_map(a="1", b="2"), first, "a", "t2")
    third = write(config_map(a="1", b="2", c="3"), second, "b", "t1")
    assert [entry[0] for entry in entries(third)] == ["b", "z", "a"]


def test_fields_of_something_that_is_atomic_now_become_the_whole() -> None:
    old: JsonObject = {"metadata": {"name": "s"}, "spec": {"selector": {"a": "1"}}}
    granular: JsonObject = {"f:spec": {"f:selector": {".": {}, "f:a": {}}, "f:type": {}}}
    entry = {"manager": "x", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": granular}
    old["metadata"]["managedFields"] = [entry]
    new = {"metadata": {"name": "s"}, "spec": {"selector": {"a": "2"}}}
    assert entries(write(new, old, type_=SERVICE)) == [
        ("x", "Update", None, {"f:spec": {"f:type": {}}}),
        ("m", "Update", "t1", {"f:spec": {"f:selector": {}}}),
    ]


def test_entries_of_another_version_are_compared_in_it_or_go_with_it() -> None:
    old = write(config_map(a="1"), None)
    old["metadata"]["managedFields"] += [
        {"manager": v, "operation": "Apply", "apiVersion": v, "fieldsType": "FieldsV1", "fieldsV1": {"f:old": {}}}
        for v in ("v0", "gone")
    ]

    def convert(value: JsonObject, version: str) -> Any:
        return ({"metadata": {}, "old": value["data"]["a"]}, CONFIG_MAP) if version == "v0" else None

    changed = write(config_map(a="2"), old, "two", convert=convert)
    assert [entry[0] for entry in entries(changed)] == ["two"] or [e[0] for e in entries(changed)] == ["m", "two"]
    assert not any(entry[0] in ("v0", "gone") for entry in entries(changed))


@pytest.mark.parametrize("versions", [(), ("v3",), ("v2", "v3")])
def test_what_a_write_resets_keeps_its_owners_in_the_versions_given(versions: tuple[str, ...]) -> None:
    properties = {
        "spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "status": {"type": "object"},
    }
    type_ = object_type({"properties": properties}, "Thing")
    applied = {"manager": "a", "operation": "Apply", "apiVersion": "v2", "fieldsType": "FieldsV1"}
    owner = {**applied, "fieldsV1": {"f:spec": {"f:a": {}}}}
    old = {"metadata": {"managedFields": [owner]}, "spec": {"a": 1}}
    new = {"metadata": {}, "spec": {"a": 2}, "status": {"b": 1}}

    def convert(value: JsonObject, version: str) -> Any:
        return value, type_

    settings: dict[str, Any] = {"type_": type_, "convert": convert, "reset": (("spec",),), "subresource": "status"}
    written = write(new, old, "s", resets_in=versions, **settings)
    assert (owner in (written["metadata"].get("managedFields") or [])) == ("v2" in versions)


def test_times_alone_are_put_back() -> None:
    old = write(config_map(a="1"), None)
    new = copy.deepcopy(old)
    new["metadata"]["managedFields"][0]["time"] = "t9"
    keep_timestamps(new, old)
    assert new == old
    new = copy.deepcopy(old) | {"data": {"a": "2"}}
    new["metadata"]["managedFields"][0]["time"] = "t9"
    keep_timestamps(new, old)
    assert new["metadata"]["managedFields"][0]["time"] == "t9"


def entry(version: str) -> JsonObject:
    fields: JsonObject = {"f:data": {"f:a": {}}}
    return {"manager": "x", "operation": "Update", "apiVersion": version, "fieldsType": "FieldsV1", "fieldsV1": fields}


@pytest.mark.parametrize("old", [config_map(a="1"), None])
def test_managers_of_versions_that_are_gone_are_forgotten_at_once(old: JsonObject | None) -> None:
    known = [entry("v1"), entry("gone")]
    if old is not None:
        old["metadata"]["managedFields"] = known
    new = config_map(a="1")
    new["metadata"]["managedFields"] = known
    written = write(new, old, convert=lambda value, version: None)
    assert "gone" not in {each["apiVersion"] for each in written["metadata"]["managedFields"]}


def test_of_versions_of_which_nothing_can_be_told_nothing_is_written() -> None:
    def convert(value: JsonObject, version: str) -> Any:
        raise ValueError(version)

    old = config_map(a="1")
    old["metadata"]["managedFields"] = [entry("v1"), entry("a/b/c")]
    with pytest.raises(ValueError, match="a/b/c"):
        write(config_map(a="1"), old, convert=convert)
