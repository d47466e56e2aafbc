"""What differs between two values, where Python sees no difference."""

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
