"""Timestamps are compared by their instant, in whatever time zone they were written (CEL's specification)."""

from __future__ import annotations

import pytest

from gateway.cel.rules import compile_schema

WHEN = {"type": "string", "format": "date-time"}
UTC, EAST = "2026-01-01T00:00:00Z", "2026-01-01T01:00:00+01:00"


@pytest.mark.parametrize("rule", ["self.a == self.b", "self.a <= self.b", "self.b <= self.a", "!(self.a < self.b)"])
@pytest.mark.parametrize("values", [{"a": UTC, "b": EAST}, {"a": EAST, "b": UTC}])
def test_one_moment_in_two_zones_is_equal(rule: str, values: dict[str, str]) -> None:
    schema = {"type": "object", "properties": {"a": WHEN, "b": WHEN}, "required": ["a", "b"]}
    rules = compile_schema({**schema, "x-kubernetes-validations": [{"rule": rule}]}, root=False)
    assert rules is not None and not rules.validate(values)[0]
