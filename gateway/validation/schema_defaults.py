"""Defaults in the schema of a custom resource: they have no members that the schema does not know."""

from __future__ import annotations

from typing import Any

from gateway.jsontypes import JsonObject
from gateway.validation.field import FieldError, invalid
from gateway.validation.schema_values import validate_value

META_FIELDS = ("metadata", "apiVersion", "kind")


def pruned(value: Any, schema: JsonObject) -> Any:
    """A value without the members that its schema neither names nor preserves."""
    items, additional = schema.get("items"), schema.get("additionalProperties")
    if isinstance(value, list):
        return [pruned(item, items) for item in value] if isinstance(items, dict) else value
    if not isinstance(value, dict):
        return value
    properties, kept = schema.get("properties") or {}, dict[str, Any]()
    embedded = schema.get("x-kubernetes-embedded-resource")
    for name, member in value.items():
        if embedded and name in META_FIELDS:
            kept[name] = member
        elif name in properties:
            kept[name] = pruned(member, properties[name])
        elif isinstance(additional, dict):
            kept[name] = pruned(member, additional)
        elif additional is True or schema.get("x-kubernetes-preserve-unknown-fields"):
            kept[name] = member
    return kept


def validate_defaults(schema: JsonObject, path: str) -> list[FieldError]:
    """The defaults of a schema and of what is below it."""
    found = list[FieldError]()
    if (default := schema.get("default")) is not None:
        if pruned(default, schema) != default:
            found.append(invalid(f"{path}.default", default, "must not have unknown fields"))
        found += validate_value(default, schema, f"{path}.default")
    if isinstance(items := schema.get("items"), dict):
        found += validate_defaults(items, f"{path}.items")
    for name, below in (schema.get("properties") or {}).items():
        found += validate_defaults(below, f"{path}.properties[{name}]")
    return found
