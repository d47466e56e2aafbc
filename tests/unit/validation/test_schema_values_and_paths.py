"""CRD schemas: validation of values, field paths, and the allowed regular expressions."""

import gc
from typing import Any

import pytest

from gateway.jsontypes import JsonObject
from gateway.validation.go_regexp import compiled, regexp_problem
from gateway.validation.schema_defaults import pruned
from gateway.validation.schema_paths import FieldPathError, follow
from gateway.validation.schema_values import validate_value
from gateway.validation.structural_schema import validate_structural

SCHEMA: JsonObject = {
    "type": "object",
    "required": ["size"],
    "properties": {
        "size": {"type": "integer", "minimum": 1, "maximum": 10, "exclusiveMaximum": True},
        "ratio": {"type": "number", "multipleOf": 0.5},
        "color": {"type": "string", "enum": ["red", "green"], "nullable": True},
        "name": {"type": "string", "minLength": 2, "maxLength": 4, "pattern": "^[a-z]+$"},
        "tags": {"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "string"}},
        "port": {"x-kubernetes-int-or-string": True},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 1},
        "choice": {"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
    },
}


@pytest.mark.parametrize(
    ("changes", "errors"),
    [
        ({}, []),
        ({"size": 2.0, "port": "http", "ratio": 1.5}, []),
        ({"color": None}, ['color: Unsupported value: null: supported values: "red", "green"']),
        ({"size": 0}, ["size: Invalid value: 0: size in body should be greater than or equal to 1"]),
        ({"size": 10}, ["size: Invalid value: 10: size in body should be less than 10"]),
        (
            {"size": 1.5},
            [
                'size: Invalid value: "number": size in body must be of type integer: "number"',
                '<nil>: Invalid value: "": Checked value must be of type integer (default format) in size',
            ],
        ),
        ({"size": None}, ['size: Invalid value: "null": size in body must be of type integer: "null"']),
        ({"ratio": 0.7}, ["ratio: Invalid value: 0.7: ratio in body should be a multiple of 0.5"]),
        ({"color": "blue"}, ['color: Unsupported value: "blue": supported values: "red", "green"']),
        ({"name": "a"}, ['name: Invalid value: "a": name in body should be at least 2 chars long']),
        ({"name": "abcde"}, ["name: Too long: may not be more than 4 bytes"]),
        ({"name": "AB"}, ["name: Invalid value: \"AB\": name in body should match '^[a-z]+$'"]),
        ({"tags": []}, ["tags: Invalid value: 0: tags in body should have at least 1 items"]),
        ({"tags": ["a", "b", "c"]}, ["tags: Too many: 3: must have at most 2 items"]),
        ({"tags": [1]}, ['tags[0]: Invalid value: "integer": tags[0] in body must be of type string: "integer"']),
        ({"port": True}, ['port: Invalid value: "boolean": port in body must be of type integer,string: "boolean"']),
        (
            {"labels": {"a": 1}},
            ['labels.a: Invalid value: "integer": labels.a in body must be of type string: "integer"'],
        ),
        (
            {"choice": {"a": 1, "b": 2}},
            [
                '<nil>: Invalid value: "": "choice" must validate one and only one schema (oneOf). '
                "Found 2 valid alternatives"
            ],
        ),
    ],
)
def test_values(changes: JsonObject, errors: list[str]) -> None:
    found = [str(error) for error in validate_value({"size": 1, **changes}, SCHEMA)]
    assert found == errors


def test_what_is_required_is_named() -> None:
    assert [str(error) for error in validate_value({}, SCHEMA, "spec")] == ["spec.size: Required value"]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "object"}, {}),
        ({"type": "object", "properties": {"a": {"type": "object"}}}, {"a": {}}),
        ({"type": "object", "additionalProperties": {"type": "object"}}, {"a": {}}),
        ({"type": "object", "x-kubernetes-preserve-unknown-fields": True}, {"a": {"b": 1}}),
    ],
)
def test_members_that_a_schema_does_not_know_are_pruned(schema: JsonObject, expected: Any) -> None:
    assert pruned({"a": {"b": 1}}, schema) == expected


def test_a_path_leads_to_a_schema() -> None:
    nested = {"properties": {"spec": {"properties": {"a.b": {"type": "string"}}}}}
    assert follow(".spec['a.b']", nested) == (["spec", "a.b"], {"type": "string"})


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("size", "expected [ or . but got: size"),
        (".", "unexpected end of JSON path"),
        (".none", "does not refer to a valid field"),
        ("[0]", "expected single quoted string but got 0"),
        ("['size'", "unexpected end of JSON path"),
    ],
)
def test_a_path_that_leads_nowhere(path: str, message: str) -> None:
    with pytest.raises(FieldPathError, match="^" + message.replace("[", "\\[") + "$"):
        follow(path, SCHEMA)


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("^[a-z]+$", ""),
        (r"\pL\z", ""),
        ("(?<name>a)", ""),
        ("a{2,1}", "invalid repeat count: `{2,1}`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("a{2}{3}", "invalid nested repetition operator: `{2}{3}`"),
        ("a(", "missing closing ): `a(`"),
        ("a)", "unexpected ): `a)`"),
        ("[a", "missing closing ]: `[a`"),
        ("*", "missing argument to repetition operator: `*`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        (r"\1", "invalid escape sequence: `\\1`"),
        ("[b-a]", "invalid character class range: `b-a`"),
    ],
)
def test_regular_expressions(pattern: str, problem: str) -> None:
    assert regexp_problem(pattern) == (f"error parsing regexp: {problem}" if problem else "")


MOST = 64 << 20  # bytes that all cached patterns may take; see docs/reference/limits.md
LARGE = r"\pL{{1,4}}kept{}"


def test_the_patterns_that_are_kept_are_bounded_in_bytes() -> None:
    """Whoever keeps them: the server, or RE2's package."""
    kind = type(compiled("a")[0])
    assert all(compiled(LARGE.format(number))[0].options.max_mem > 1 << 20 for number in range(70))
    kept = [each for each in gc.get_objects() if type(each) is kind and "kept" in each.pattern]
    assert sum(each.options.max_mem for each in kept) <= MOST
    assert LARGE.format(69) in {each.pattern for each in kept}, "the last one is kept"


@pytest.mark.parametrize(("additional", "wrong"), [(False, []), ({"type": "string"}, ["anyOf[0]", "anyOf[1]"])])
def test_what_may_be_beside_int_or_string_says_nothing_of_other_members(additional: Any, wrong: list[str]) -> None:
    choice = [{"type": "integer"}, {"type": "string", "additionalProperties": additional}]
    schema = {"type": "object", "properties": {"p": {"x-kubernetes-int-or-string": True, "anyOf": choice}}}
    found = [each.field for each in validate_structural(schema, "s") if each.field.endswith(".type")]
    assert found == [f"s.properties[p].{place}.type" for place in wrong]
