"""The OpenAPI schemas of custom kinds, and the names of these schemas."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from gateway.jsontypes import JsonObject
from gateway.kinds.resource import Resource
from gateway.schema.catalog import META
from gateway.schema.descriptions import description_of
from gateway.selectors.fields import METADATA_FIELDS

REFERENCE = "#/components/schemas/"
_KINDS = "x-kubernetes-group-version-kind"
_DESCRIBED = "io.k8s.api.core.v1.ConfigMap"  # a kind with the usual descriptions of kind and apiVersion
_METADATA: JsonObject = {
    "description": "Standard object's metadata, as all kinds have it.",
    "allOf": [{"$ref": f"{REFERENCE}{META}ObjectMeta"}],
}
_EITHER: list[JsonObject] = [{"type": "integer"}, {"type": "string"}]
_REMOVED_FROM_VERSION_2 = ("nullable", "anyOf", "oneOf", "not", "default", "x-kubernetes-validations")


def schema_name(resource: Resource) -> str:
    """The name of a kind's schema: "com.example.v1.Widget", or for built-in kinds the catalog's name."""
    if not resource.custom:
        return resource.type_name
    return f"{'.'.join(reversed(resource.group.split('.')))}.{resource.version}.{resource.kind}"


def list_name(resource: Resource) -> str:
    """The name of the schema of a kind's lists."""
    if not resource.custom:
        return f"{resource.type_name}List"
    name = schema_name(resource).removesuffix(resource.kind)
    return name + (resource.model.list_kind or f"{resource.kind}List")


def custom_schemas(resources: Iterable[Resource], *, version_2: bool = False) -> JsonObject:
    """The schemas of the custom kinds among some resources, and of their lists, by name."""
    found: JsonObject = {}
    for resource in resources:
        if resource.custom and not resource.subresource:
            found[schema_name(resource)] = _schema(resource, version_2)
            found[list_name(resource)] = _list(resource)
    return found


def _schema(resource: Resource, version_2: bool) -> JsonObject:
    version = resource.model_version
    schema = version.openapi or {}
    preserves = version.type.preserves
    made: JsonObject = {"type": "object"}
    if schema and not (version_2 and preserves):
        made = _version_2(_completed(schema, version_2)) if version_2 else _completed(schema, version_2)
        made["properties"] = {
            **(made.get("properties") or {}),
            **_type_meta(),
            "metadata": _METADATA,
        }
    made[_KINDS] = [_kind(resource, resource.kind)]
    return made | _selectable_fields(resource)


def _selectable_fields(resource: Resource) -> JsonObject:
    """The extension that lists the selectableFields of the CRD (KEP-4358)."""
    fields = [path for path in resource.model_version.selectable.names if path not in METADATA_FIELDS]
    return {"x-kubernetes-selectable-fields": [{"fieldPath": path} for path in fields]} if fields else {}


@cache
def _type_meta() -> JsonObject:
    """The schemas of apiVersion and kind. The result must not be changed."""
    texts = description_of(_DESCRIBED).fields
    named = ("apiVersion", "kind")
    return {name: {"type": "string"} | ({"description": texts[name]} if name in texts else {}) for name in named}


def _completed(schema: JsonObject, version_2: bool) -> JsonObject:
    """A schema with the properties of embedded resources, and the anyOf of int-or-string, added."""
    made = dict(schema)
    if below := schema.get("properties"):
        made["properties"] = {name: _completed(member, version_2) for name, member in below.items()}
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            made[key] = _completed(schema[key], version_2)
    if schema.get("x-kubernetes-int-or-string") and not _says_either(schema):
        made["anyOf"] = _EITHER
    preserves = version_2 and schema.get("x-kubernetes-preserve-unknown-fields")
    if schema.get("x-kubernetes-embedded-resource") and not preserves:
        made["properties"] = {**(made.get("properties") or {}), **_type_meta(), "metadata": _METADATA}
        required = schema.get("required") or []
        made["required"] = [*required, *(name for name in ("kind", "apiVersion") if name not in required)]
    return made


def _says_either(schema: JsonObject) -> bool:
    first = (schema.get("allOf") or [{}])[0]
    return bool(schema.get("anyOf")) or first.get("anyOf") == _EITHER


def _version_2(schema: JsonObject) -> JsonObject:
    """A schema reduced to keywords of OpenAPI v2 that old versions of kubectl accept."""
    found: JsonObject = {key: value for key, value in schema.items() if key not in _REMOVED_FROM_VERSION_2}
    if schema.get("x-kubernetes-preserve-unknown-fields") or schema.get("x-kubernetes-int-or-string"):
        return {key: value for key, value in found.items() if key in ("description",) or key.startswith("x-")}
    if schema.get("nullable"):
        for key in ("type", "items", "properties", "additionalProperties"):
            found.pop(key, None)
    below: dict[str, Any] = found.get("properties") or {}
    if below:
        found["properties"] = {name: _version_2(member) for name, member in below.items()}
    for key in ("items", "additionalProperties"):
        if isinstance(found.get(key), dict):
            found[key] = _version_2(found[key])
    return found


def _list(resource: Resource) -> JsonObject:
    item = {"$ref": REFERENCE + schema_name(resource)}
    return {
        "type": "object",
        "required": ["items"],
        "properties": {
            **_type_meta(),
            "items": {"type": "array", "items": item},
            "metadata": {"allOf": [{"$ref": f"{REFERENCE}{META}ListMeta"}]},
        },
        _KINDS: [_kind(resource, resource.model.list_kind or f"{resource.kind}List")],
        **_selectable_fields(resource),
    }


def _kind(resource: Resource, kind: str) -> JsonObject:
    return {"group": resource.group, "kind": kind, "version": resource.version}
