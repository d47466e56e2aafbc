"""The OpenAPI v2 document: the definitions alone, as JSON and as gnostic's protobuf message.

kubectl asks for it only to validate a `kind: List` before it sends the items; all else it finds in version 3. The
messages' field numbers are in version2_messages.json, which hack/gotypes/openapi makes of the published gnostic models.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from gateway.encodings.protobuf_values import delimited, tag
from gateway.jsontypes import JsonObject, dumps, loads
from gateway.kinds.registry import Registry
from gateway.openapi.custom import custom_schemas
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
    info = _text("Info.title", content["info"]["title"]) + _text("Info.version", content["info"]["version"])
    return b"".join(
        (
            _text("Document.swagger", content["swagger"]),
            _field("Document.info", info),
            _field("Document.paths", b""),
            _field("Document.definitions", _named_schemas("Definitions", content["definitions"].items())),
        )
    )


def _document(registry: Registry) -> JsonObject:
    definitions: JsonObject = {}
    for group, versions in registry.groups.items():
        for version in versions:
            custom = custom_schemas(registry.of_version(group, version), version_2=True)
            for name, schema in (schemas_of(_roots(registry, group, version), group, version) | custom).items():
                known = definitions.setdefault(name, _converted(schema))
                _add_kinds(known, schema)
    info = {"title": "Kubernetes", "version": document()["version"]}
    return {"swagger": "2.0", "info": info, "paths": {}, "definitions": dict(sorted(definitions.items()))}


def _roots(registry: Registry, group: str, version: str) -> list[str]:
    roots = [META + name for name in ("Status", "DeleteOptions", "WatchEvent")] + [PATCH]
    for resource in registry.of_version(group, version):
        if not resource.kind.endswith("Options"):
            if resource.custom:
                roots += [META + "ObjectMeta", META + "ListMeta"]
                continue
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
    parts = [_text("Schema._ref", schema.get("$ref", ""))]
    parts += [_text(f"Schema.{name}", schema.get(name, "")) for name in ("format", "description")]
    parts += [_text("Schema.required", name) for name in schema.get("required", ())]
    parts += [_field("Schema.enum", _any(value)) for value in schema.get("enum", ())]
    if "additionalProperties" in schema:
        item = _field("AdditionalPropertiesItem.schema", _schema(schema["additionalProperties"]))
        parts.append(_field("Schema.additional_properties", item))
    if "type" in schema:
        parts.append(_field("Schema.type", _text("TypeItem.value", schema["type"])))
    if "items" in schema:
        parts.append(_field("Schema.items", _field("ItemsItem.schema", _schema(schema["items"]))))
    if "properties" in schema:
        parts.append(_field("Schema.properties", _named_schemas("Properties", schema["properties"].items())))
    for key, value in schema.items():
        if key.startswith("x-"):
            named = _text("NamedAny.name", key) + _field("NamedAny.value", _any(value))
            parts.append(_field("Schema.vendor_extension", named))
    return b"".join(parts)


def _named_schemas(message: str, items: Iterable[tuple[str, JsonObject]]) -> bytes:
    """Definitions or Properties: schemas by name."""
    named = (_text("NamedSchema.name", name) + _field("NamedSchema.value", _schema(schema)) for name, schema in items)
    return b"".join([_field(f"{message}.additional_properties", each) for each in named])


def _any(value: Any) -> bytes:
    """Any value, as YAML text: JSON is YAML."""
    return _text("Any.yaml", dumps(value).decode())


def _text(name: str, text: str) -> bytes:
    return _field(name, text.encode()) if text else b""


def _field(name: str, payload: bytes) -> bytes:
    """A field of a message ("Schema.format")."""
    return _tag(name) + delimited(payload)


@cache
def _tag(name: str) -> bytes:
    message, _, field = name.partition(".")
    return tag(_messages()[message][field])


@cache
def _messages() -> JsonObject:
    messages: JsonObject = loads(Path(__file__).with_name("version2_messages.json").read_bytes())
    return messages
