"""Values that differ in JSON, although they are equal in Python."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.apply.comparison import SAME, compare
from gateway.customresources.schema_type import schema_type

SPEC = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
TYPE = schema_type({"type": "object", "properties": {"spec": SPEC, "other": {"type": "string"}}})


@pytest.mark.parametrize("other", ["x", "y"])
def test_a_boolean_is_no_number(other: str) -> None:
    old: Any = {"spec": {"a": 1, "b": {"c": [0], "d": 0}, "same": 1, "true": True}, "other": "x"}
    new: Any = {"spec": {"a": True, "b": {"c": [False], "d": 0}, "same": 1, "true": True}, "other": other}
    found = compare(old, new, TYPE)
    assert found.changed["f:spec"] == {"f:a": {}, "f:b": {"f:c": {}}}
    assert ("f:other" in found.changed) == (other == "y")
    assert not found.removed


def test_numbers_are_the_same_however_they_are_written() -> None:
    assert compare({"spec": {"a": 1}}, {"spec": {"a": 1.0}}, TYPE) == SAME


@pytest.mark.parametrize("large", [2**63, 2**64 - 1, -(2**63) - 1])
def test_integers_beyond_64_bits_are_the_same_as_the_floats_they_are_read_as(large: int) -> None:
    old, new = ({"spec": {"a": value, "b": {"c": value}}} for value in (large, large + (1 if large > 0 else -1)))
    assert compare(old, new, TYPE) == SAME
    assert compare(old, {"spec": {"a": large * 2}}, TYPE) != SAME


def test_an_object_that_becomes_null_is_there_still() -> None:
    old: dict[str, Any] = {"spec": {"a": {"b": 1, "c": {"d": 1}}, "e": [1]}}
    found = compare(old, {"spec": {"a": None, "e": None}}, TYPE)
    assert found == ({"f:spec": {"f:e": {}}}, {"f:spec": {"f:a": {"f:b": {}, "f:c": {".": {}, "f:d": {}}}}})
