"""Reads tolerations from an annotation of a pod, where they stood before they became a field."""

from __future__ import annotations

from typing import Any

from gateway.jsontypes import JsonObject
from gateway.schema.catalog import type_of
from gateway.schema.exact import PairsObject, pairs
from gateway.schema.problems import examine
from gateway.schema.types import Field, Omit, Type, TypeKind
from gateway.validation.json_text import read_json

_FIELDS = [
    Field(each.go_name, each.go_name, Type(each.type.kind, each.type.name.replace("v1.", "core.")), Omit.EMPTY)
    for each in type_of("io.k8s.api.core.v1.Toleration").fields.values()
]
_TOLERATION = Type(TypeKind.STRUCT, "core.Toleration", {each.name: each for each in _FIELDS})
_TOLERATIONS = Type(TypeKind.LIST, "[]core.Toleration", elem=_TOLERATION)
_GO_NAMES = {each.name.lower(): each.name for each in _FIELDS}  # encoding/json ignores the case of names
_NAMES = {each.go_name.lower(): name for name, each in type_of("io.k8s.api.core.v1.Toleration").fields.items()}


def read_tolerations(text: str) -> list[JsonObject]:
    """Parses the annotation; returns tolerations as in the pod's field. Raises ValueError in Go's words."""
    found = read_json(text, exact=True)
    items = [_under_go_names(each) for each in found] if isinstance(found, list) else found
    examine(_TOLERATIONS, items, [])
    return [_toleration(each or {}) for each in items or ()]


def _under_go_names(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    named = PairsObject()
    for key, item in pairs(value):
        named.append(_GO_NAMES.get(key.lower(), key), item)
    return named


def _toleration(value: JsonObject) -> JsonObject:
    members = {
        _NAMES[key.lower()]: item for key, item in pairs(value) if key in _TOLERATION.fields and item is not None
    }
    return {key: item for key, item in members.items() if item != ""}
