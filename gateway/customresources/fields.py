"""The fields of custom objects that field selectors may use ("Selectable fields for custom resources")."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gateway.jsontypes import JsonObject
from gateway.kinds.selectable import FieldValue
from gateway.selectors.fields import METADATA_FIELDS, Selectable
from gateway.validation.schema_paths import follow


def selectable(version: JsonObject, *, namespaced: bool) -> Selectable:
    """The selectable fields of a version: metadata.name, metadata.namespace if namespaced, and its selectableFields."""
    names = [
        *METADATA_FIELDS[: 2 if namespaced else 1],
        *(_name(field) for field in version.get("selectableFields") or ()),
    ]
    return Selectable({name: name for name in names}, "field label not supported: {label}")


def field_values(versions: Iterable[JsonObject]) -> dict[str, FieldValue]:
    """For each selectable field of all versions, the function that reads its text from an object."""
    found: dict[str, FieldValue] = {}
    for version in versions:
        schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
        for field in version.get("selectableFields") or ():
            found.setdefault(_name(field), _reader(follow(field["jsonPath"], schema)[0]))
    return found


def _name(field: JsonObject) -> str:
    path: str = field["jsonPath"]
    return path.removeprefix(".")


def _reader(steps: list[str]) -> FieldValue:
    def read(obj: dict[str, Any]) -> str:
        value: Any = obj
        for step in steps:
            value = value.get(step) if isinstance(value, dict) else None
        if value is None:
            return ""
        return str(value).lower() if isinstance(value, bool) else str(value)

    return read
