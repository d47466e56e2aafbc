"""Formats of strings in CRD schemas, and which invalid values an update may keep."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.cel.correlation import Correlation
from gateway.validation.schema_formats import format_check, known_format
from gateway.validation.schema_values import compile_values
from tests.limits import at_most_cpu

VALID = {
    "uri": ["http://e.com/", "/a/b", "mailto:a@e.com"],
    "email": ["a@e.com", "A B <a@e.com>"],
    "hostname": ["e.com", "a-b", "1.e.com"],
    "ipv4": ["1.2.3.4", "01.2.3.4"],
    "ipv6": ["::1", "fe80::1"],
    "cidr": ["10.0.0.0/8", "fd00::/64"],
    "mac": ["00:11:22:33:44:55", "0011.2233.4455"],
    "uuid": ["01234567-89AB-cdef-0123-456789abcdef", "0123456789abcdef0123456789abcdef"],
    "uuid4": ["01234567-89ab-4def-8123-456789abcdef"],
    "isbn": ["0321751043", "978-0321751041"],
    "creditcard": ["4220 8554 2622 2389"],
    "ssn": ["111-22-3333"],
    "hexcolor": ["#ffF", "012345"],
    "rgbcolor": ["rgb(0, 31,255)"],
    "byte": ["YQ=="],
    "date": ["2024-02-29"],
    "date-time": ["2024-02-29T23:59:59Z", "2024-02-29t01:02:03.4+01:00"],
    "duration": ["1h2m", "22 ns", "3 days"],
    "k8s-short-name": ["a-b"],
    "k8s-long-name": ["a.b-c"],
}
INVALID = {
    "uri": ["", "e.com", "./a"],
    "email": ["a", "a@"],
    "hostname": ["-a", "a_b", "e.c-"],
    "ipv4": ["1.2.3", "256.1.1.1", "::1"],
    "ipv6": ["1.2.3.4", "fe80::1%eth0"],
    "cidr": ["10.0.0.0", "10.0.0.0/33"],
    "mac": ["00:11:22:33:44", "00:11-22:33:44:55"],
    "uuid": ["0123"],
    "uuid4": ["01234567-89ab-1def-8123-456789abcdef"],
    "isbn": ["0321751044"],
    "creditcard": ["4220855426213389"],
    "ssn": ["111223333"],
    "hexcolor": ["#ff"],
    "rgbcolor": ["rgb(1,349,275)"],
    "byte": ["YQ"],
    "date": ["2023-02-29", "2024-2-1"],
    "date-time": ["2024-02-29", "2024-02-29T24:00:00Z"],
    "duration": ["soon", ""],
    "k8s-short-name": ["A", "a.b"],
    "k8s-long-name": ["a..b"],
}


@pytest.mark.parametrize("name", VALID)
def test_formats(name: str) -> None:
    check = format_check(name)
    assert check is not None
    assert [text for text in VALID[name] if not check(text)] == []
    assert [text for text in INVALID[name] if check(text)] == []


@given(st.sampled_from(sorted(VALID)), st.text())
def test_no_text_makes_a_format_fail(name: str, text: str) -> None:
    check = format_check(name)
    assert check is not None
    assert check(text) in (True, False)


def test_formats_of_other_types_are_not_looked_at() -> None:
    assert known_format("integer", "ipv4") == known_format("string", "int32") == known_format("array", "date") == ""


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        ({"type": "string", "format": "date"}, 5, 'date: "int64"'),
        ({"type": "string", "format": "date"}, 1.5, 'date: "float64"'),
        ({"type": "string", "format": "date"}, True, 'date: ""'),
        ({"type": "string", "format": "date"}, [], None),
        ({"type": "integer", "format": "int32"}, 1.5, 'int32: "float64"'),
        ({"type": "integer", "format": "int32"}, "x", 'integer: "string"'),
        ({"type": "number", "format": "double"}, True, 'double: ""'),
    ],
)
def test_a_value_of_another_type_is_told_by_the_format(schema: dict[str, Any], value: Any, message: str | None) -> None:
    """As go-openapi does, which names Go's formats of numbers."""
    told = [str(error) for error in compile_values(schema)(value, "a", None)][:1]
    assert [each.partition(" must be of type ")[2] for each in told] == ([] if message is None else [message])


SCHEMA = {
    "type": "object",
    "properties": {
        "a": {"type": "string", "maxLength": 2},
        "b": {"type": "object", "required": ["x"], "properties": {"x": {}, "y": {"type": "integer"}}},
        "l": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["id"],
            "items": {
                "type": "object",
                "properties": {"id": {"type": "string"}, "n": {"type": "integer", "maximum": 1}},
            },
        },
    },
}


@pytest.mark.parametrize(
    ("old", "new", "fields"),
    [
        ({"a": "long"}, {"a": "long", "b": {"x": 1}}, []),
        ({"a": "long"}, {"a": "longer"}, ["a"]),
        ({"b": {"y": 1}}, {"b": {"y": 1}, "a": "x"}, []),
        ({"b": {"y": 1}}, {"b": {"y": 2}}, ["b.x"]),
        ({"l": [{"id": "p", "n": 5}]}, {"l": [{"id": "q", "n": 1}, {"id": "p", "n": 5}]}, []),
        ({"l": [{"id": "p", "n": 5}]}, {"l": [{"id": "q", "n": 5}]}, ["l[0].n"]),
    ],
)
def test_an_update_does_not_answer_for_what_it_leaves_as_it_was(
    old: dict[str, Any], new: dict[str, Any], fields: list[str]
) -> None:
    found = compile_values(SCHEMA)(new, "", Correlation(new, old, SCHEMA))
    assert [error.field for error in found] == fields


def test_of_alternatives_the_one_that_comes_nearest_is_told() -> None:
    one = {"type": "object", "required": ["a"], "properties": {"b": {"type": "integer"}}}
    other = {"type": "object", "properties": {"b": {"type": "string", "maxLength": 1}, "c": {"type": "string"}}}
    found = compile_values({"anyOf": [one, other]})({"b": "long", "c": "x"}, "spec", None)
    assert [error.field for error in found] == ["<nil>", "spec.b"]
    assert found[1].reason == "FieldValueTooLong"


@pytest.mark.parametrize("name", ["isbn", "isbn10", "isbn13", "creditcard"])
@pytest.mark.parametrize("piece", ["a-", "1 ", "\\ "])
def test_a_long_text_that_is_no_number_is_refused_soon(name: str, piece: str) -> None:
    """Four seconds of CPU for a megabyte, when a pattern replaced what is between the digits."""
    check = format_check(name)
    assert check is not None
    began = time.process_time()
    assert not check(piece * (1 << 19))
    at_most_cpu(time.process_time() - began, 0.1)
