"""The 422 for a patch whose result does not decode quotes what kube-apiserver quotes."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.patches import merge_patch, outcome
from gateway.patches.go_text import go_print
from gateway.schema.catalog import type_for

CONFIG_MAP = type_for("", "v1", "ConfigMap")
DOCUMENT = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"uid": "u", "name": "c"}, "data": {"a": "<"}}


def test_patched_document_has_patched_objects_sorted_and_others_in_the_order_of_the_type() -> None:
    result = merge_patch.apply(DOCUMENT, {"data": [1, 2]}, CONFIG_MAP)
    error = outcome.undecodable(DOCUMENT, result, CONFIG_MAP, "why")
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
