"""The work for validating one object by a schema is bounded, in units independent of the machine."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.validation import effort
from gateway.validation.effort import limited, spend
from gateway.validation.field import forbidden
from gateway.validation.schema_values import compile_check

TOLD = "checking the object by the schema of its kind takes more than"
TEXT = {"type": "string"}


def listed(items: dict[str, Any], *values: Any) -> list[str]:
    check = compile_check({"type": "object", "properties": {"a": {"type": "array", "items": items}}})
    return [str(error) for error in check({"a": list(values)}, "", None)]


@pytest.mark.parametrize("key", ["anyOf", "oneOf", "allOf"])
def test_alternatives_are_tried_up_to_the_bound(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setattr(effort, "MOST_EFFORT", 10_000)
    schema = {**TEXT, key: [{"minLength": 1000 + i} for i in range(100)]}
    assert TOLD not in str(listed(schema, "x"))
    (told,) = listed(schema, *["x"] * 100)
    assert told.startswith("<nil>: Forbidden: ") and TOLD in told


def test_patterns_that_are_compiled_and_long_texts_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effort, "MOST_EFFORT", 10_000)
    assert TOLD in str(listed({**TEXT, "allOf": [{"pattern": f"effort{i}"} for i in range(200)]}, "x"))
    once = {**TEXT, "allOf": [{"pattern": "^x*$"}] * 20}
    assert listed(once, "x" * 1000) == []
    assert TOLD in str(listed(once, "x" * 20_000))


def test_a_large_object_without_alternatives_is_far_from_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """A body of 3 MiB has 1.5 million values at most; one of them is wrong, so that all are looked at."""
    monkeypatch.setattr(effort, "MOST_EFFORT", effort.MOST_EFFORT // 100)
    found = listed({"type": "integer"}, *[1] * 15_000, "x")
    assert len(found) == 1 and "must be of type integer" in found[0]


def test_what_is_limited_within_what_is_limited_shares_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """The defaults of a definition have one bound together."""
    monkeypatch.setattr(effort, "MOST_EFFORT", 10)

    def five() -> list[Any]:
        spend(5)
        return []

    assert limited(five) == []
    told = limited(lambda: [*limited(five), *limited(five), *limited(five)])
    assert [error.field for error in told] == [forbidden("<nil>", "").field]
    assert limited(five) == [], "the next object has all of it"


def test_nothing_is_compiled_of_properties_that_no_object_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """A schema with 30 000 properties would otherwise keep a hundred times its bytes."""
    compiled: list[str] = []
    monkeypatch.setattr(
        "gateway.validation.schema_values.known_format", lambda kind, form: compiled.append(form) or form
    )
    check = compile_check({"type": "object", "properties": {f"p{i}": {**TEXT, "format": f"f{i}"} for i in range(1000)}})
    assert check({"p7": 1, "p8": "x"}, "", None)
    assert {"f7", "f8"} <= set(compiled) <= {"", "f7", "f8"}
