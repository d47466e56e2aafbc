"""The 422 for a patch whose result does not decode quotes what kube-apiserver quotes."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.jsontypes import dumps
from gateway.patches import json_patch, merge_patch, outcome
from gateway.patches.spelling import as_quoted, written
from gateway.patches.unstructured import mismatch
from gateway.schema.body import parse_exactly
from gateway.schema.catalog import type_for
from gateway.schema.decode import DecodeError, DecodeReport, decode
from gateway.validation.go_print import go_print

CONFIG_MAP = type_for("", "v1", "ConfigMap")
_SCHEMA_FIELD = "json: cannot unmarshal number into Go struct field JSONSchemaProps.{} of type string"
DOCUMENT = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"uid": "u", "name": "c"}, "data": {"a": "<"}}


def test_patched_objects_are_sorted_and_others_have_the_order_of_the_type() -> None:
    error = outcome.undecodable(merge_patch.shown(DOCUMENT, {"data": [1, 2]}, CONFIG_MAP), "why", None)
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


@pytest.mark.parametrize("number", ["1e1", "2.0", "-0.0", "1E30"])
@pytest.mark.parametrize("module", [json_patch, merge_patch])
def test_numbers_are_quoted_as_they_are_written(module: Any, number: str) -> None:
    if module is json_patch:
        add = f'{{"op":"add","path":"/metadata/generation","value":{number}}}'
        body = f'[{{"op":"test","path":"/data/a","value":"<"}},{add}]'
    else:
        body = f'{{"metadata":{{"generation":{number}}}}}'
    shown = module.shown(DOCUMENT, parse_exactly(body.encode()), CONFIG_MAP)
    told = "json: cannot unmarshal number {} into Go struct field ObjectMeta.metadata.generation of type int64"
    error = outcome.undecodable(shown, told.format(10.0), CONFIG_MAP)
    assert f'\\"generation\\":{number},' in error.message
    assert error.message.endswith(told.format(number))


def test_repeated_members_of_a_json_patch_are_quoted_twice_if_not_parsed() -> None:
    value = b'{"a":"1","a":"2","b":[{"c":1,"c":1.50}]}'
    body = b'[{"op":"add","path":"/x","value":%s},{"op":"copy","from":"/x","path":"/y"}' % value
    more = b',{"op":"add","path":"/z","value":{"a":1,"a":2}},{"op":"remove","path":"/z/a"}]'
    shown = json_patch.shown(DOCUMENT, parse_exactly(body + more), CONFIG_MAP)
    text = written(shown)
    assert text.count(value) == 2
    assert b'"z":{}' in text


def test_members_that_come_twice_in_a_copied_value_are_told_of_both() -> None:
    body = b'[{"op":"add","path":"/metadata/labels","value":{"a":"1","a":"2"}},'
    patch, _ = json_patch.parse(body + b'{"op":"copy","from":"/metadata/labels","path":"/metadata/annotations"}]', True)
    told = json_patch.repeated(DOCUMENT, patch, CONFIG_MAP)
    assert told == [f'duplicate field "metadata.{member}.a"' for member in ("annotations", "labels")]


def test_copies_of_members_that_come_twice_are_quoted_up_to_the_limit_of_copies() -> None:
    hidden = b'{"a":"%s","a":1}' % (b"x" * 50_000)
    copies = b"".join(b',{"op":"copy","from":"/x","path":"/x%d"}' % number for number in range(1000))
    shown = json_patch.shown(
        DOCUMENT, parse_exactly(b'[{"op":"add","path":"/x","value":%s}%s]' % (hidden, copies)), CONFIG_MAP
    )
    text = written(shown)
    assert text.count(hidden) == json_patch.MAX_COPIED // len(hidden) + 1
    assert text.count(b'{"a":1}') == 1001 - text.count(hidden)


def test_what_is_quoted_may_be_deep() -> None:
    deep = b'{"a":' * 400 + b'1.5,"a":1.5' + b"}" * 400
    assert written(parse_exactly(deep)) == deep.replace(b',"a":1.5', b"")


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


def test_the_first_mistake_in_the_order_of_what_is_quoted_is_told() -> None:
    patch = {"metadata": {"name": []}, "data": {"a": True}}
    shown = merge_patch.shown(DOCUMENT, patch, CONFIG_MAP)
    assert list(shown) == ["apiVersion", "data", "kind", "metadata"]
    error = outcome.undecodable(shown, "json: another", CONFIG_MAP)
    assert error.message.endswith("json: cannot unmarshal bool into Go struct field ConfigMap.data of type string")


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ('{"data":{"x":"0\\u00fc","y":[]}}', '"x":"0\\u00fc"'),
        ('{"data":{"x":"\\/","y":[]}}', '"x":"\\/"'),
        ('{"data":{"x":"<","y":[]}}', '"x":"\\u003c"'),
    ],
)
def test_strings_are_quoted_as_the_client_spelt_them(body: str, shown: str) -> None:
    plain, quoted = (
        merge_patch.shown(DOCUMENT, read(body.encode()), CONFIG_MAP) for read in (parse_exactly, as_quoted)
    )
    error = outcome.undecodable(plain, "why", CONFIG_MAP, quoted)
    assert shown.replace("\\", "\\\\").replace('"', '\\"') in error.message
    assert error.message.endswith("cannot unmarshal array into Go struct field ConfigMap.data of type string")


def test_a_large_integer_of_a_strategic_patch_is_a_float() -> None:
    error = outcome.unconvertible(DOCUMENT, {"data": {"x": 1 << 63}}, CONFIG_MAP, "json: other")
    assert error.message.endswith('"map[data:map[x:9.223372036854776e+18]]": unrecognized type: string')


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"items": {"type": 5}}, _SCHEMA_FIELD.format("type")),
        ({"items": [{"properties": {"b": {"type": 7}}}]}, _SCHEMA_FIELD.format("properties.type")),
        ({"dependencies": {"a": ["x", 5]}}, "json: cannot unmarshal number into Go value of type string"),
    ],
)
def test_a_schema_in_a_list_is_refused_with_the_path_inside_of_it(schema: dict[str, Any], message: str) -> None:
    schema_type = type_for("apiextensions.k8s.io", "v1", "CustomResourceDefinition").fields["spec"].type
    for name in ("versions", "schema", "openAPIV3Schema"):
        schema_type = schema_type.fields[name].type if schema_type.fields else schema_type.element().fields[name].type
    assert mismatch(schema, schema_type) == message
    if "items" in schema:
        with pytest.raises(DecodeError, match=r"Go struct field JSONSchemaProps\.items\.[a-z.]+ of type string"):
            decode(schema_type, schema, DecodeReport())


def test_a_schema_in_a_list_is_quoted_in_the_order_of_its_type() -> None:
    schema = {"properties": {"id": {"maxLength": 20, "type": "string"}}, "required": ["id"], "type": "object"}
    definition = type_for("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
    document = {"spec": {"versions": [{"schema": {"openAPIV3Schema": {"items": schema}}}]}}
    shown = merge_patch.shown(document, {"status": []}, definition)
    text = '"items":{"type":"object","required":["id"],"properties":{"id":{"type":"string","maxLength":20}}}'
    assert text in written(shown).decode()
