"""Makes a `Type` of a CRD's structural schema ("Specifying a structural schema").

The type is used for pruning, defaults, field ownership and the order of members. Validation is in
`gateway.validation.schema_values`.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from gateway.jsontypes import JsonObject
from gateway.schema.catalog import META, type_of
from gateway.schema.types import FORMATTED, FREE_OBJECT, Field, Omit, Type, TypeKind
from gateway.time_limits import look

_STRING = Type(TypeKind.STRING, "string", structural=True)
_FREE = Type(TypeKind.ANY, "object", structural=True, preserves=True)
_SCALARS = {"string": TypeKind.STRING, "integer": TypeKind.INT64, "number": TypeKind.FLOAT, "boolean": TypeKind.BOOL}
_PLAIN = {
    (kind, name, nullable): Type(kind, name, structural=True, nullable=nullable)
    for kind, name in (*((kind, name) for name, kind in _SCALARS.items()), (TypeKind.STRING, FORMATTED))
    for nullable in (False, True)
}
"""Shared types of scalars without a default. A schema may have thousands of them, and a type takes 500 bytes."""


def object_type(schema: JsonObject, kind: str, *, preserves: bool = False) -> Type:
    """The type of a kind's objects, by the schema of a version.

    `preserves`: unknown fields are not pruned (spec.preserveUnknownFields of v1beta1). The types of kind, apiVersion
    and metadata are the common ones, whatever the schema says of them.
    """
    below = {**schema, "type": "object", "x-kubernetes-embedded-resource": True}
    if preserves:
        below["x-kubernetes-preserve-unknown-fields"] = True
    return _struct(below, kind, is_root=True)


def schema_type(schema: JsonObject, *, lenient: bool = False) -> Type:
    """The type of a part of a schema. Raises TakesLong on an event loop for a large schema.

    `lenient`: a part around it has x-kubernetes-preserve-unknown-fields.
    """
    look()
    if schema.get("x-kubernetes-int-or-string"):
        return _with_facts(Type(TypeKind.INT_OR_STRING, "int-or-string", structural=True), schema)
    kind = schema.get("type", "")
    if kind == "array":
        items = schema.get("items")
        inner = lenient or bool(schema.get("x-kubernetes-preserve-unknown-fields"))
        elem = schema_type(items, lenient=inner) if isinstance(items, dict) else _FREE
        made = Type(TypeKind.LIST, "array", elem=elem, structural=True)
        made.list_type = schema.get("x-kubernetes-list-type") or "atomic"
        made.list_map_keys = tuple(schema.get("x-kubernetes-list-map-keys") or ())
        return _with_facts(made, schema)
    if kind in _SCALARS:
        name = FORMATTED if kind == "string" and schema.get("format") not in (None, "", "byte") else kind
        if schema.get("default") is None and not schema.get("x-kubernetes-preserve-unknown-fields"):
            return _PLAIN[_SCALARS[kind], name, bool(schema.get("nullable"))]
        return _with_facts(Type(_SCALARS[kind], name, structural=True), schema)
    if kind == "object" or schema.get("properties") or schema.get("x-kubernetes-embedded-resource"):
        if kind == "object" and _says_nothing(schema):
            return _with_facts(Type(TypeKind.ANY, FREE_OBJECT, structural=True), schema)
        return _struct(schema, "object", lenient=lenient)
    return _with_facts(Type(TypeKind.ANY, "object", structural=True), schema)


def _says_nothing(schema: JsonObject) -> bool:
    """Whether an object preserves unknown fields and its schema does not mention any member."""
    preserves = schema.get("x-kubernetes-preserve-unknown-fields")
    known = ("properties", "additionalProperties", "x-kubernetes-embedded-resource", "x-kubernetes-map-type")
    return bool(preserves) and not any(schema.get(key) for key in known)


def _struct(schema: JsonObject, name: str, *, lenient: bool = False, is_root: bool = False) -> Type:
    additional = schema.get("additionalProperties")
    elem: Type | None = None
    lenient = lenient or bool(schema.get("x-kubernetes-preserve-unknown-fields"))
    if isinstance(additional, dict):
        elem = schema_type(additional, lenient=lenient)
    elif additional:
        elem = Type(TypeKind.STRUCT, "object", structural=True)
    members = {key: schema_type(below, lenient=lenient) for key, below in (schema.get("properties") or {}).items()}
    embedded = bool(schema.get("x-kubernetes-embedded-resource"))
    own = _own(schema, members) if embedded and not is_root else None
    if embedded:
        members |= {"apiVersion": _STRING, "kind": _STRING, "metadata": type_of(META + "ObjectMeta")}
    made = Type(TypeKind.STRUCT, name, elem=elem, structural=True, embedded=embedded)
    required = frozenset(schema.get("required") or ())
    made.fields = {
        key: Field(key, key, type_, Omit.NIL, default=type_.default, required=key in required)
        for key, type_ in members.items()
    }
    made.own = own
    made.atomic = schema.get("x-kubernetes-map-type") == "atomic"
    made.lenient = lenient or (not members and elem is None)
    return _with_facts(made, schema)


def _own(schema: JsonObject, members: dict[str, Type]) -> dict[str, Type] | None:
    """The types that a schema says of kind, apiVersion and metadata of an embedded object, for their defaults."""
    own: dict[str, Type] = {}
    for key in ("apiVersion", "kind"):
        if key in members and members[key].default is not None:
            own[key] = members[key]
    said = (schema.get("properties") or {}).get("metadata")
    if said is not None and (said.get("properties") or said.get("default") is not None):
        known = {key: one for key, one in (said.get("properties") or {}).items() if key in _meta_fields()}
        own["metadata"] = _struct({**said, "properties": known, "default": _known(said.get("default"))}, "object")
    return own or None


def _meta_fields() -> Collection[str]:
    return type_of(META + "ObjectMeta").fields.keys()


def _known(meta: Any) -> Any:
    """Metadata without unknown members."""
    return {key: one for key, one in meta.items() if key in _meta_fields()} if isinstance(meta, dict) else meta


def _default(schema: JsonObject, default: Any) -> Any:
    """A default, whose embedded objects have no unknown members in their metadata. They are pruned, as kube-apiserver
    does when it begins to serve the definition.
    """
    items, others = schema.get("items"), schema.get("additionalProperties")
    if isinstance(default, list) and isinstance(items, dict):
        return [_default(items, one) for one in default]
    if not isinstance(default, dict):
        return default
    properties = schema.get("properties") or {}
    embedded = schema.get("x-kubernetes-embedded-resource")
    found = {}
    for key, one in default.items():
        if embedded and key == "metadata":
            found[key] = _known(one)
        else:
            below = properties.get(key, others)
            found[key] = _default(below, one) if isinstance(below, dict) else one
    return found


def _with_facts(type_: Type, schema: JsonObject) -> Type:
    type_.nullable = bool(schema.get("nullable"))
    type_.preserves = bool(schema.get("x-kubernetes-preserve-unknown-fields"))
    type_.default = _default(schema, schema.get("default"))
    return type_
