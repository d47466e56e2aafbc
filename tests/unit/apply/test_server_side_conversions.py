"""The error of an apply whose result cannot be converted to the version of another manager."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.apply import server_side_apply
from gateway.customresources.schema_type import object_type
from gateway.http.status import StatusError

OWNED = {
    "manager": "other", "operation": "Update", "apiVersion": "e.com/v1", "time": "then", "fieldsType": "FieldsV1",
    "fieldsV1": {"f:spec": {"f:a": {}}},
}  # fmt: skip


@pytest.mark.parametrize("which", ["old", "new"])
def test_the_object_that_does_not_convert_is_named(which: str) -> None:
    type_ = object_type({"type": "object", "properties": {"spec": {"type": "object"}}}, "Thing")
    live = {"apiVersion": "e.com/v2", "kind": "Thing", "metadata": {"name": "a", "managedFields": [OWNED]}}
    config = {"apiVersion": "e.com/v2", "kind": "Thing", "metadata": {"name": "a"}, "spec": {}}

    def convert(obj: dict[str, Any], version: str) -> Any:
        if ("spec" in obj) is (which == "new"):
            raise ValueError(".spec: field not declared in schema")
        return obj, type_

    with pytest.raises(StatusError) as raised:
        server_side_apply(
            live, config, type_, manager="m", force=True, api_version="e.com/v2", now="now", convert=convert
        )
    told = ("failed to convert new object: " if which == "new" else "") + ".spec: field not declared in schema"
    assert (raised.value.code, raised.value.message) == (500, told)


THING = object_type(
    {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {key: {"type": "string"} for key in "abc"}}},
    },
    "Thing",
)


def managed(version: str, field: str) -> dict[str, Any]:
    return {**OWNED, "apiVersion": version, "manager": field, "fieldsV1": {"f:spec": {f"f:{field}": {}}}}


def applied(convert: Any, *known: dict[str, Any]) -> dict[str, Any]:
    live = {
        "apiVersion": "e.com/v2",
        "kind": "Thing",
        "metadata": {"name": "a", "managedFields": list(known)},
        "spec": {"a": "1", "b": "1"},
    }
    config = {"apiVersion": "e.com/v2", "kind": "Thing", "metadata": {"name": "a"}, "spec": {"c": "1"}}
    return server_side_apply(
        live, config, THING, manager="m", force=True, api_version="e.com/v2", now="now", convert=convert
    )


def test_an_object_is_converted_once_for_all_managers_of_a_version() -> None:
    asked = []

    def convert(obj: dict[str, Any], version: str) -> Any:
        asked.append((sorted(obj["spec"]), version))
        return obj, THING

    applied(convert, managed("e.com/v1", "a"), managed("e.com/v1", "b"), managed("e.com/v3", "a"))
    assert sorted(asked) == [
        (spec, version) for spec in (["a", "b"], ["a", "b", "c"]) for version in ("e.com/v1", "e.com/v3")
    ]


def test_managers_of_versions_that_are_gone_are_forgotten() -> None:
    written = applied(lambda obj, version: None, managed("e.com/v1", "a"), managed("e.com/v2", "b"))
    assert [entry["manager"] for entry in written["metadata"]["managedFields"]] == ["m", "b"]


def test_what_is_pruned_and_does_not_convert_is_named() -> None:
    mine = {**managed("e.com/v2", "a"), "manager": "m", "operation": "Apply"}
    back = "failed add back owned items: failed to convert merged object at version e.com/v1"
    for known, told in (
        ((mine, managed("e.com/v1", "b")), back),
        (({**mine, "apiVersion": "e.com/v1"},), "failed to convert merged object to last applied version"),
    ):
        with pytest.raises(StatusError) as raised:
            applied(only_once(), *known)
        message = f"failed to prune fields: {told}: .spec: field not declared in schema"
        assert (raised.value.code, raised.value.message) == (500, message)


def only_once() -> Any:
    """Converts what an apply begins with, and nothing after it."""
    seen = set[str]()

    def convert(obj: dict[str, Any], version: str) -> Any:
        if version in seen:
            raise ValueError(".spec: field not declared in schema")
        seen.add(version)
        return obj, THING

    return convert


@pytest.mark.parametrize("version", ["e.com/v1", "e.com/v2"])
def test_what_a_custom_kind_resets_is_reset_in_the_written_version_alone(version: str) -> None:
    type_ = object_type(
        {
            "type": "object",
            "properties": {"status": {"type": "object", "properties": {"n": {"type": "integer"}}}},
        },
        "Thing",
    )
    status = {**OWNED, "apiVersion": version, "subresource": "status", "fieldsV1": {"f:status": {"f:n": {}}}}
    live = {"apiVersion": "e.com/v2", "kind": "Thing", "metadata": {"name": "a", "managedFields": [status]}}
    config = {"apiVersion": "e.com/v2", "kind": "Thing", "metadata": {"name": "a"}, "status": {"n": 2}}

    def apply() -> dict[str, Any]:
        return server_side_apply(
            {**live, "status": {"n": 1}}, config, type_, manager="m", force=False, api_version="e.com/v2", now="now",
            reset=(("status",),), convert=lambda obj, version: (obj, type_),
        )  # fmt: skip

    if version == "e.com/v2":
        assert apply()["metadata"]["managedFields"] == [status]
    else:
        with pytest.raises(StatusError, match=r"status\.n"):
            apply()
