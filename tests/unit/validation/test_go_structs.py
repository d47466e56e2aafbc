"""Objects in messages, as the JSON of Go's internal types."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.schema.catalog import type_of
from gateway.validation.go_structs import go_form

SCHEMA = type_of("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps")


@pytest.mark.parametrize(
    ("schema", "name", "shown"),
    [
        ({"additionalItems": True}, "AdditionalItems", {"Allows": True, "Schema": None}),
        ({"additionalItems": False}, "AdditionalItems", {"Allows": False, "Schema": None}),
        ({"additionalProperties": True}, "AdditionalProperties", {"Allows": True, "Schema": None}),
        ({"dependencies": {"a": ["b"]}}, "Dependencies", {"a": {"Schema": None, "Property": ["b"]}}),
        ({}, "AdditionalItems", None),
        ({}, "Dependencies", None),
    ],
)
def test_members_of_a_schema_that_hold_one_thing_or_another(schema: dict[str, Any], name: str, shown: Any) -> None:
    assert go_form(SCHEMA, schema)[name] == shown


def test_a_schema_within_is_shown_whole() -> None:
    inner = go_form(SCHEMA, {"type": "string"})
    assert inner["Type"] == "string"
    shown = go_form(SCHEMA, {"additionalItems": {"type": "string"}, "dependencies": {"a": {"type": "string"}}})
    assert shown["AdditionalItems"] == {"Allows": True, "Schema": inner}
    assert shown["Dependencies"] == {"a": {"Schema": inner, "Property": None}}
