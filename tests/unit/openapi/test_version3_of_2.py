"""Conversion of version 2 documents to version 3, as in kube-apiserver 1.36.3."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.jsontypes import JsonObject
from gateway.openapi.version3_of_2 import version_3_of

REFERENCE, TARGET = {"$ref": "#/definitions/T"}, {"$ref": "#/components/schemas/T"}


def converted(**members: Any) -> JsonObject:
    return version_3_of({"swagger": "2.0", "info": {"title": "t"}, **members})


def schema(said: JsonObject) -> Any:
    return converted(definitions={"S": said})["components"]["schemas"]["S"]


def operation(**said: Any) -> Any:
    return converted(paths={"/a": {"post": said}})["paths"]["/a"]["post"]


def test_a_document_has_paths_and_components() -> None:
    found = converted(
        paths={"/a": {"x-y": 1, "parameters": [{"$ref": "#/parameters/p"}], "get": {"responses": {}}}, "x-z": 2},
        parameters={"p": {"name": "p", "in": "query", "type": "string"}},
        securityDefinitions={"O": {"type": "oauth2", "flow": "implicit", "tokenUrl": "u", "scopes": {"r": "d"}}},
        responses={"N": {"description": "n", "schema": REFERENCE}},
        produces=["application/json"],
    )
    assert (found["openapi"], found["info"]) == ("3.0.0", {"title": "t"})
    parameter = {"$ref": "#/components/parameters/p", "schema": {"type": ""}}
    assert found["paths"] == {"/a": {"x-y": 1, "parameters": [parameter], "get": {"responses": {}}}, "x-z": 2}
    flows = {"implicit": {"tokenUrl": "u", "scopes": {"r": "d"}}}
    assert found["components"] == {
        "securitySchemes": {"O": {"type": "oauth2", "flows": flows}},
        "responses": {"N": {"description": "n", "content": {"application/json": {"schema": TARGET}}}},
    }


def test_a_body_becomes_that_of_the_request_if_it_is_called_so() -> None:
    body = {"name": "body", "in": "body", "schema": REFERENCE}
    assert operation(parameters=[body], consumes=["a/b"])["requestBody"] == {"content": {"a/b": {"schema": TARGET}}}
    assert operation(parameters=[body])["requestBody"] == {}
    assert operation(parameters=[{**body, "name": "other"}])["parameters"][0]["schema"] == TARGET


def test_parameters_and_responses_get_schemas() -> None:
    number = {"name": "n", "in": "query", "type": "integer", "uniqueItems": True, "default": 3, "x-p": 1}
    found = operation(
        parameters=[number],
        produces=["a/b"],
        responses={
            "200": {"description": "OK", "schema": REFERENCE, "headers": {}},
            "default": {"$ref": "#/responses/N"},
        },
    )
    made = {"name": "n", "in": "query", "x-p": 1, "schema": {"type": "integer", "uniqueItems": True}}
    assert found["parameters"] == [made]
    assert found["responses"] == {
        "200": {"description": "OK", "content": {"a/b": {"schema": TARGET}}},
        "default": {"$ref": "#/components/responses/N"},
    }


@pytest.mark.parametrize(
    ("said", "made"),
    [
        ({"properties": {"a": {"items": REFERENCE}}}, {"properties": {"a": {"items": TARGET}}}),
        ({"additionalProperties": REFERENCE}, {"additionalProperties": TARGET}),
        ({"additionalProperties": False, "nullable": False}, {"additionalProperties": False}),
        ({**REFERENCE, "description": ""}, TARGET),
        ({**REFERENCE, "default": {}}, {"default": {}, "allOf": [TARGET]}),
        ({"allOf": [REFERENCE]}, {"allOf": [REFERENCE]}),
        ({"$ref": "other.json#/x"}, {"$ref": "other.json#/x"}),
        ({"x-kubernetes-group-version-kind": []}, {"x-kubernetes-group-version-kind": []}),
    ],
)
def test_references_lead_to_schemas(said: JsonObject, made: JsonObject) -> None:
    assert schema(said) == made


@pytest.mark.parametrize("document", [{"paths": []}, {"definitions": {"S": {"properties": 1}}}, {"paths": {"/a": 1}}])
def test_what_is_no_document_is_refused(document: JsonObject) -> None:
    with pytest.raises(ValueError, match="no document"):
        version_3_of(document)


def test_what_is_too_deep_is_refused() -> None:
    deep: JsonObject = {}
    for _ in range(100):
        deep = {"items": deep}
    with pytest.raises(ValueError, match="deep"):
        schema(deep)
