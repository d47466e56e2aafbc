"""The OpenAPI v2 document: the definitions alone, as JSON and as gnostic's protobuf message.

kubectl asks for it only to validate a `kind: List` before it sends the items; all else it finds in version 3. Its
field numbers are those of OpenAPIv2.proto.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gateway.jsontypes import JsonObject, dumps
from gateway.kinds.registry import Registry
from gateway.openapi.schemas import PATCH, REFERENCE, schemas_of
from gateway.schema.catalog import META, document

PROTOBUF = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
PROTOBUF_BEFORE = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"  # its first name, not a proper one
_DEFINITIONS = "#/definitions/"
_KINDS = "x-kubernetes-group-version-kind"


def json_document(registry: Registry) -> bytes:
    """The document as JSON."""
    return dumps(_document(registry))


def protobuf_document(registry: Registry) -> bytes:
    """The document as an openapi.v2.Document."""
    content = _document(registry)
    info = _text(1, content["info"]["title"]) + _text(2, content["info"]["version"])
    definitions = b"".join(_field(1, _named(name, _schema(value))) for name, value in content["definitions"].items())
    return _text(1, content["swagger"]) + _field(2, info) + _field(8, b"") + _field(9, definitions)


def _document(registry: Registry) -> JsonObject:
    definitions: JsonObject = {}
    for group, versions in registry.groups.items():
        for version in versions:
            for name, schema in schemas_of(_roots(registry, group, version), group, version).items():
                known = definitions.setdefault(name, _converted(schema))
                _add_kinds(known, schema)
    info = {"title": "Kubernetes", "version": document()["version"]}
    return {"swagger": "2.0", "info": info, "paths": {}, "definitions": dict(sorted(definitions.items()))}


def _roots(registry: Registry, group: str, version: str) -> list[str]:
    roots = [META + name for name in ("Status", "DeleteOptions", "WatchEvent")] + [PATCH]
    for resource in registry.of_version(group, version):
        if not resource.kind.endswith("Options"):
            roots.append(resource.type_name)
            if "list" in resource.verbs:
                roots.append(f"{resource.type_name}List")
    return roots


def _add_kinds(known: JsonObject, schema: JsonObject) -> None:
    """A type of several groups stands in the document once, with the kinds of all."""
    kinds = known.get(_KINDS, [])
    more = [kind for kind in schema.get(_KINDS, ()) if kind not in kinds]
    if more:
        known[_KINDS] = [*kinds, *more]


def _converted(schema: JsonObject) -> JsonObject:
    """A schema of version 3 as one of version 2, which has neither oneOf nor anything beside references."""
    if "allOf" in schema:
        extensions = {key: value for key, value in schema.items() if key == "description" or key.startswith("x-")}
        return {**_converted(schema["allOf"][0]), **extensions}
    if "$ref" in schema:
        return {"$ref": _DEFINITIONS + schema["$ref"].removeprefix(REFERENCE)}
    found = {key: value for key, value in schema.items() if key not in ("oneOf", "default")}
    if "oneOf" in schema:
        found["type"] = "string"
    if "properties" in schema:
        found["properties"] = {name: _converted(value) for name, value in schema["properties"].items()}
    for key in ("items", "additionalProperties"):
        if key in schema:
            found[key] = _converted(schema[key])
    return found


def _schema(schema: JsonObject) -> bytes:
    parts = [_text(1, schema.get("$ref", "")), _text(2, schema.get("format", ""))]
    parts.append(_text(4, schema.get("description", "")))
    parts += [_text(19, name) for name in schema.get("required", ())]
    parts += [_field(20, _any(value)) for value in schema.get("enum", ())]
    if "additionalProperties" in schema:
        parts.append(_field(21, _field(1, _schema(schema["additionalProperties"]))))
    if "type" in schema:
        parts.append(_field(22, _text(1, schema["type"])))
    if "items" in schema:
        parts.append(_field(23, _field(1, _schema(schema["items"]))))
    if "properties" in schema:
        parts.append(_field(25, _named_schemas(schema["properties"].items())))
    for key, value in schema.items():
        if key.startswith("x-"):
            parts.append(_field(31, _named(key, _any(value))))
    return b"".join(parts)


def _named_schemas(items: Iterable[tuple[str, JsonObject]]) -> bytes:
    return b"".join(_field(1, _named(name, _schema(schema))) for name, schema in items)


def _named(name: str, value: bytes) -> bytes:
    return _text(1, name) + _field(2, value)


def _any(value: Any) -> bytes:
    """Any value, as YAML text: JSON is YAML."""
    return _text(2, dumps(value).decode())


def _text(number: int, text: str) -> bytes:
    return _field(number, text.encode()) if text else b""


def _field(number: int, payload: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(payload)) + payload


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    found.append(value)
    return bytes(found)
