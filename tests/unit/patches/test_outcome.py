"""The 422 for a patch whose result does not decode quotes what kube-apiserver quotes."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.jsontypes import dumps
from gateway.patches import json_patch, merge_patch, outcome
from gateway.patches.go_text import go_print
from gateway.schema.catalog import type_for

CONFIG_MAP = type_for("", "v1", "ConfigMap")
DOCUMENT = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"uid": "u", "name": "c"}, "data": {"a": "<"}}


def test_patched_document_has_patched_objects_sorted_and_others_in_the_order_of_the_type() -> None:
    error = outcome.undecodable(merge_patch.shown(DOCUMENT, {"data": [1, 2]}, CONFIG_MAP), "why")
    metadata = '{"name":"c","uid":"u"}'
    shown = '{"apiVersion":"v1","data":[1,2],"kind":"ConfigMap","metadata":' + metadata + "}"
    text = shown.replace('"', '\\"')
    assert error.message == f' "" is invalid: patch: Invalid value: "{text}": why'
    assert error.details == {
        "causes": [{"reason": "FieldValueInvalid", "message": f'Invalid value: "{text}": why', "field": "patch"}]
    }


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ({"metadata": {"finalizers": {"a": "b"}}}, "cannot restore slice from map"),
        ({"data": {"a": 1}}, "cannot convert int64 to string"),
        ({"data": ["a"]}, "cannot restore map from slice"),
        ({"metadata": "x"}, "cannot restore struct from: string"),
        ({"immutable": "x"}, "unrecognized type: bool"),
        ({"binaryData": {"a": "\u00fc"}}, "error decoding from json: illegal base64 data at input byte 0"),
        ({"metadata": {"creationTimestamp": 1}}, "json: cannot unmarshal number into Go value of type string"),
    ],
)
def test_strategic_patch_is_quoted_with_the_wording_of_the_converter(patch: dict[str, Any], message: str) -> None:
    error = outcome.unconvertible(DOCUMENT, patch, CONFIG_MAP, "json: other")
    assert error.message == f' "" is invalid: patch: Invalid value: "{go_print(patch)}": {message}'
    assert error.code == 422


OBJECT = {"kind": "ConfigMap", "metadata": {"name": "c", "finalizers": ["a"], "uid": "u"}, "data": {"b": "1", "a": "2"}}


@pytest.mark.parametrize(
    ("patch", "data"),
    [
        ({"data": {"d": {"f": 1, "e": 2}}}, '{"a":"2","b":"1","d":{"e":2,"f":1}}'),
        ({"data": {"d": [{"f": 1, "e": 2}]}}, '{"a":"2","b":"1","d":[{"e":2,"f":1}]}'),
        ({"data": [{"f": 1, "e": 2}]}, '[{"f":1,"e":2}]'),  # nothing looks into what replaces an object
    ],
)
def test_a_merge_patch_sorts_what_it_brings(patch: dict[str, Any], data: str) -> None:
    shown = merge_patch.shown(OBJECT, patch, CONFIG_MAP)
    assert list(shown) == ["data", "kind", "metadata"]
    assert list(shown["metadata"]) == ["name", "uid", "finalizers"]
    assert dumps(shown["data"]).decode() == data


@pytest.mark.parametrize(
    ("operations", "data"),
    [
        ([{"op": "replace", "path": "/data", "value": {"d": 1, "c": {"f": 1, "e": 2}}}], '{"d":1,"c":{"f":1,"e":2}}'),
        ([{"op": "add", "path": "/data/c", "value": {"f": 1, "e": 2}}], '{"a":"2","b":"1","c":{"f":1,"e":2}}'),
        (
            [
                {"op": "replace", "path": "/data", "value": {"d": 1, "c": {"f": 1, "e": 2}}},
                {"op": "test", "path": "/data/c/f", "value": 1},
            ],
            '{"c":{"e":2,"f":1},"d":1}',
        ),
    ],
)
def test_a_json_patch_sorts_what_it_looks_into(operations: list[dict[str, Any]], data: str) -> None:
    shown = json_patch.shown(OBJECT, operations, CONFIG_MAP)
    assert dumps(shown["data"]).decode() == data
