"""Objects as error messages of kube-apiserver show them: JSON of Go's internal types, and the difference of two.

Internal types have no JSON names: all fields appear, under their Go names. Types of the meta group have JSON names.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Sequence
from typing import Any

from gateway.jsontypes import go_dumps, go_escaped
from gateway.schema.catalog import type_of
from gateway.schema.types import Field, Omit, Type, TypeKind
from gateway.validation.field import Verbatim
from gateway.validation.internal_form import internal_order

_CORE = "io.k8s.api.core.v1."
_ZERO: dict[TypeKind, Any] = {
    TypeKind.STRING: "",
    TypeKind.INT32: 0,
    TypeKind.INT64: 0,
    TypeKind.FLOAT: 0,
    TypeKind.BOOL: False,
}
# the order of fields in internal types, where it differs from that of the versioned types
_ORDER: dict[str, Sequence[str]] = {
    name: tuple(keys.split())
    for name, keys in {
        "v1.PersistentVolumeClaimSpec": "accessModes selector resources volumeName storageClassName volumeMode "
        "dataSource dataSourceRef volumeAttributesClassName",
        "v1.VolumeResourceRequirements": "limits requests",
        "v1.CSIPersistentVolumeSource": "driver volumeHandle readOnly fsType volumeAttributes "
        "controllerPublishSecretRef nodeStageSecretRef nodePublishSecretRef controllerExpandSecretRef "
        "nodeExpandSecretRef",
        "v1.JSONSchemaProps": "id $schema $ref description type nullable format title default maximum "
        "exclusiveMaximum minimum exclusiveMinimum maxLength minLength pattern maxItems minItems uniqueItems "
        "multipleOf enum maxProperties minProperties required items allOf oneOf anyOf not properties "
        "additionalProperties patternProperties dependencies additionalItems definitions externalDocs example "
        "x-kubernetes-preserve-unknown-fields x-kubernetes-embedded-resource x-kubernetes-int-or-string "
        "x-kubernetes-list-map-keys x-kubernetes-list-type x-kubernetes-map-type x-kubernetes-validations",
        "v1.PodDisruptionBudgetSpec": "minAvailable selector maxUnavailable unhealthyPodEvictionPolicy",
    }.items()
}

_EITHER = ("items", "additionalProperties", "additionalItems", "dependencies")  # hold a schema or something else


def go_form(type_: Type, value: Any) -> Any:
    """The value with Go's names in Go's order. Absent fields have their zero values."""
    if value is None or type_.kind in (TypeKind.ANY, TypeKind.STRING):
        return value
    if type_.kind is TypeKind.LIST and type_.elem is not None:
        return [go_form(type_.elem, item) for item in value]
    if type_.kind is TypeKind.MAP and type_.elem is not None:
        return {key: go_form(type_.elem, value[key]) for key in sorted(value)}
    if type_.kind is not TypeKind.STRUCT:
        return value
    meta = _is_meta(type_)
    shown: dict[str, Any] = {}
    for key in _order(type_):
        field = type_.fields[key]
        if meta:
            if key in value:
                shown[key] = go_form(field.type, value[key])
        elif type_.name == "v1.JSONSchemaProps" and key in _EITHER and key in value:
            shown[field.go_name] = _schemas(key, type_, value[key])
        elif field.go_name == "ObjectMeta":
            shown.update(go_form(field.type, value.get(key) or {}))
        else:
            shown[field.go_name] = _member(field, value.get(key))
    return shown


def _order(type_: Type) -> Iterable[str]:
    if type_.name != "v1.PersistentVolumeSpec":
        return _ORDER.get(type_.name, type_.fields)
    first, *others = (key for key in internal_order("PersistentVolumeSpec") if key)
    return (first, *internal_order("PersistentVolumeSource"), *others)


def _is_meta(type_: Type) -> bool:
    return type_.name.startswith(("v1.LabelSelector", "v1.ObjectMeta", "v1.Condition", "v1.OwnerReference"))


def _schemas(key: str, schema: Type, value: Any) -> Any:
    """A member of a JSON schema that holds a schema or something else, as Go's struct for both."""
    if key == "dependencies":
        return {name: _dependency(schema, value[name]) for name in sorted(value)}
    if key != "items":
        return {"Allows": value is not False, "Schema": go_form(schema, value) if isinstance(value, dict) else None}
    several = isinstance(value, list)
    forms = [go_form(schema, one) for one in (value if several else [value])]
    return {"Schema": None if several else forms[0], "JSONSchemas": forms if several else None}


def _dependency(schema: Type, value: Any) -> Any:
    several = isinstance(value, list)
    return {"Schema": None if several else go_form(schema, value), "Property": value if several else None}


def _member(field: Field, value: Any) -> Any:
    if value is not None or field.pointer or field.omit is Omit.NIL:
        return go_form(field.type, value)
    if field.type.kind is TypeKind.STRUCT:
        return go_form(field.type, {})
    if field.type.kind is TypeKind.QUANTITY:
        return "0"
    return _ZERO.get(field.type.kind)


def verbatim(type_name: str, value: Any) -> Verbatim:
    """The JSON of a struct, for the bad value of an error. `type_name` is the catalog's; in core/v1, just the kind."""
    type_ = type_of(type_name if "." in type_name else _CORE + type_name)
    return Verbatim(go_dumps(go_form(type_, value)))


def claim_difference(old: Any, new: Any) -> str:
    """The unified diff of two PersistentVolumeClaimSpecs."""
    type_ = type_of(f"{_CORE}PersistentVolumeClaimSpec")
    return _difference(go_form(type_, old), go_form(type_, new))


def volume_source_difference(old: Any, new: Any) -> str:
    """The unified diff of two PersistentVolumeSources."""
    fields = type_of(f"{_CORE}PersistentVolumeSpec").fields
    keys = internal_order("PersistentVolumeSource")
    before, after = (
        {fields[key].go_name: go_form(fields[key].type, source.get(key)) for key in keys} for source in (old, new)
    )
    return _difference(before, after)


def _difference(before: Any, after: Any) -> str:
    return "".join(list(difflib.unified_diff(_lines(before), _lines(after)))[2:])


def _lines(value: Any) -> list[str]:
    return [f"{line}\n" for line in go_escaped(json.dumps(value, indent=1, ensure_ascii=False)).split("\n")]
