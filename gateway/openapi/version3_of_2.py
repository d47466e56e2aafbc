"""Converts an OpenAPI v2 document to version 3, with the same losses as kube-aggregator's conversion.

Among others, it drops the shared parameters, although operations still refer to them, and does not convert references
below `allOf`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gateway.jsontypes import JsonObject

_DEFINITIONS, _SCHEMAS = "#/definitions/", "#/components/schemas/"
_OPERATIONS = ("get", "put", "post", "delete", "options", "head", "patch")
_OF_OPERATION = ("description", "externalDocs", "tags", "summary", "deprecated", "operationId")
_OF_PARAMETER = ("name", "description", "in", "required", "allowEmptyValue")
_SIMPLE = ("format", "uniqueItems")  # members of a parameter without a schema
_OF_SECURITY = ("description", "type", "name", "in")
_OF_FLOW = ("authorizationUrl", "tokenUrl", "scopes")
_LEFT_OUT = frozenset(  # members of a schema that Go omits if they are empty or false
    (
        *(
            "id",
            "description",
            "type",
            "nullable",
            "format",
            "title",
            "exclusiveMaximum",
            "exclusiveMinimum",
            "pattern",
        ),
        *(
            "uniqueItems",
            "enum",
            "required",
            "allOf",
            "oneOf",
            "anyOf",
            "properties",
            "patternProperties",
            "dependencies",
        ),
        *("definitions", "discriminator", "readOnly"),
    )
)
_DEEPEST = 64  # the greatest number of nested levels of a schema


def version_3_of(document: JsonObject) -> JsonObject:
    """Converts a document. Raises ValueError if it is not a document of version 2."""
    try:
        paths = document.get("paths")
        return _filled(
            openapi="3.0.0",
            info=document.get("info"),
            externalDocs=document.get("externalDocs"),
            paths=None if paths is None else {path: _path(path, item) for path, item in paths.items()},
            components=_components(document),
        )
    except (AttributeError, TypeError, KeyError) as error:
        raise ValueError(f"no document of OpenAPI v2: {error!r}") from None


def _filled(**members: Any) -> JsonObject:
    """The members without those that are None, which Go omits."""
    return {name: value for name, value in members.items() if value is not None}


def _components(document: JsonObject) -> JsonObject:
    produced = document.get("produces")
    definitions, security, responses = (
        document.get(name) or {} for name in ("definitions", "securityDefinitions", "responses")
    )
    found = {
        "schemas": {name: _schema(value) for name, value in definitions.items()},
        "securitySchemes": {name: _security(value) for name, value in security.items()},
        "responses": {name: _response(value, produced) for name, value in responses.items()},
    }
    return {name: value for name, value in found.items() if value}


def _path(path: str, item: Any) -> Any:
    if path.startswith("x-"):
        return item
    found: JsonObject = {method: _operation(item[method]) for method in _OPERATIONS if item.get(method) is not None}
    if parameters := item.get("parameters"):
        found["parameters"] = [_parameter(each) for each in parameters]
    return found | _kept(item, ("$ref",))


def _operation(said: JsonObject) -> JsonObject:
    found, parameters = _kept(said, _OF_OPERATION), list[JsonObject]()
    for each in said.get("parameters") or ():
        if each.get("name") == "body" and each.get("schema") is not None:
            content = {kind: {"schema": _schema(each["schema"])} for kind in said.get("consumes") or ()}
            found["requestBody"] = {"content": content} if content else {}
        else:
            parameters.append(_parameter(each))
    if parameters:
        found["parameters"] = parameters
    responses = said.get("responses") or {}
    found["responses"] = {
        code: value if code.startswith("x-") else _response(value, said.get("produces"))
        for code, value in responses.items()
    }
    return found


def _response(said: JsonObject, produced: Iterable[str] | None) -> JsonObject:
    found = _kept(said, ("description",)) | _reference(said, "responses")
    if said.get("schema") is not None and produced:
        found["content"] = {kind: {"schema": _schema(said["schema"])} for kind in produced}
    return found


def _parameter(said: JsonObject) -> JsonObject:
    schema = said.get("schema")
    simple = {"type": said.get("type", ""), **_kept(said, _SIMPLE, extensions=False)}
    made = simple if schema is None else _schema(schema)
    return _kept(said, _OF_PARAMETER) | _reference(said, "parameters") | {"schema": made}


def _security(said: JsonObject) -> JsonObject:
    found = _kept(said, _OF_SECURITY)
    if flow := said.get("flow"):
        found["flows"] = {flow: _kept(said, _OF_FLOW, extensions=False)}
    return found


def _kept(said: JsonObject, names: Iterable[str], *, extensions: bool = True) -> JsonObject:
    """The members `names` without empty or false ones, which Go omits; and all extensions (x-…)."""
    found = {name: said[name] for name in names if said.get(name)}
    return found | {name: value for name, value in said.items() if extensions and name.startswith("x-")}


def _reference(said: JsonObject, kind: str) -> JsonObject:
    reference = said.get("$ref")
    return {"$ref": reference.replace(f"#/{kind}/", f"#/components/{kind}/", 1)} if reference else {}


def _schema(said: Any, level: int = 0) -> Any:
    """Converts a schema. A reference beside other members is wrapped in `allOf`. Raises ValueError if too deep."""
    if level > _DEEPEST:
        raise ValueError("a schema is too deep")
    if isinstance(said, list):
        return [_schema(each, level + 1) for each in said]
    if not isinstance(said, Mapping):
        return said  # such as `additionalProperties: true`
    found = {name: value for name, value in said.items() if value or name not in _LEFT_OUT}
    for name in ("items", "additionalProperties", "additionalItems"):
        if name in found:
            found[name] = _schema(found[name], level + 1)
    if properties := found.get("properties"):
        found["properties"] = {name: _schema(value, level + 1) for name, value in properties.items()}
    reference = found.get("$ref")
    if not reference:
        return found
    _, marker, name = reference.partition(_DEFINITIONS)
    target = {"$ref": _SCHEMAS + name if marker else reference}
    others = {name: value for name, value in found.items() if name != "$ref"}
    return {**others, "allOf": [target]} if others else target
