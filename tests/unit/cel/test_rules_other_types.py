"""Rules over values with other types than the schema's, such as those of objects stored under an older schema."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from gateway.cel.rules import compile_schema

MEMBERS: dict[str, Any] = {
    "a": {"type": "object", "properties": {"b": {"type": "string"}, "n": {"type": "integer"}}},
    "l": {"type": "array", "items": {"type": "string"}},
    "s": {"type": "string"},
    "m": {"type": "object", "additionalProperties": {"type": "integer"}},
    "d": {"type": "string", "format": "date-time"},
}
RULES = (
    "self.a.b == 'x'", "has(self.a.b)", "self.a.n + 1 > 3", "self.l.all(x, x.size() > 1)", "self.s.startsWith('a')",
    "self.m['x'] > 2", "self.l[0] == 'a'", "self.s + 'x' == 'ax'", "self.m.all(k, self.m[k] > 1)", "self.a == self.a",
    "self.l.map(x, x + 'a').size() > 1", "self.s.split(',').size() > 1", "self.l.isSorted()", "self.l.join(',') == ''",
    "quantity(self.s).isGreaterThan(quantity('1'))", "string(self.a.n) == '1'", "self.d.getFullYear() > 1",
    "self.l.exists(x, x.matches('a'))", "self.a.?b.orValue('x') == 'x'", "self.l.filter(x, x > 'a').size() == 0",
)  # fmt: skip
VALUES = (None, True, 7, 1.5, "x", [], [1], ["x", None], {}, {"b": 5, "n": "x", "x": []}, {"a": None})


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_says_what_is_wrong(rule: str) -> None:
    spec = {"type": "object", "properties": MEMBERS, "x-kubernetes-validations": [{"rule": rule}]}
    rules = compile_schema({"type": "object", "properties": {"spec": spec}})
    assert rules is not None
    specs = [dict.fromkeys(MEMBERS, value) for value in VALUES] + [*VALUES]
    for new, old in itertools.product(specs, (None, "x", {})):
        errors, _ = rules.validate({"spec": new}, {"spec": old}, ratchet=True)
        assert all(error.field == "spec" and error.body.startswith("Invalid value: ") for error in errors)
