"""Converts paths of version 3 to version 2, where bodies are parameters and operations have the media types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gateway.jsontypes import JsonObject
from gateway.openapi.paths import CUSTOM_TYPES
from gateway.openapi.schemas import REFERENCE

_DEFINITIONS = "#/definitions/"
_METHODS = ("get", "put", "post", "delete", "options", "head", "patch")
_ANY = ["*/*"]


def version_2_paths(paths: Mapping[str, JsonObject]) -> JsonObject:
    """Converts paths of OpenAPI version 3 to version 2."""
    found: JsonObject = {}
    for path, item in paths.items():
        made: JsonObject = {method: _operation(item[method]) for method in _METHODS if method in item}
        if item.get("parameters"):
            made["parameters"] = [_parameter(each) for each in item["parameters"]]
        found[path] = made
    return found


def _operation(given: JsonObject) -> JsonObject:
    answers = given["responses"]
    produced = next((list(each["content"]) for each in answers.values() if "content" in each), [])
    body = given.get("requestBody")
    made: JsonObject = {
        "consumes": list(body["content"]) if body else _consumed(given, produced),
        "produces": produced,
        "schemes": ["https"],
        "tags": given["tags"],
        "operationId": given["operationId"],
    }
    if not made["consumes"]:
        del made["consumes"]
    parameters = [_body(body)] if body else []
    parameters += [_parameter(each) for each in given.get("parameters", ())]
    if parameters:
        made["parameters"] = parameters
    made["responses"] = {status: _answer(each) for status, each in answers.items()}
    return made | {key: value for key, value in given.items() if key.startswith("x-")}


def _consumed(given: JsonObject, produced: list[str]) -> list[str]:
    """The media types in `consumes` of an operation without a body.

    For built-in kinds "*/*". For custom objects and paths without objects those of the response; none if that is text.
    """
    if "x-kubernetes-action" in given:
        return produced if produced == list(CUSTOM_TYPES) else _ANY
    text = "$ref" not in next(iter(given["responses"]["200"]["content"].values()))["schema"]
    return [] if text else produced


def _parameter(given: JsonObject) -> JsonObject:
    return {**given["schema"], **{key: value for key, value in given.items() if key != "schema"}}


def _body(given: JsonObject) -> JsonObject:
    made = {"name": "body", "in": "body", "schema": _schema(given["content"])}
    return {**made, "required": True} if given.get("required") else made


def _answer(given: JsonObject) -> JsonObject:
    made: JsonObject = {"description": given["description"]}
    return {**made, "schema": _schema(given["content"])} if "content" in given else made


def _schema(content: Mapping[str, Any]) -> JsonObject:
    """The schema of a content. All its media types have the same one: a reference, or text."""
    schema: JsonObject = next(iter(content.values()))["schema"]
    if "$ref" not in schema:
        return schema
    return {"$ref": _DEFINITIONS + schema["$ref"].removeprefix(REFERENCE)}
