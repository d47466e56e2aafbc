"""Expressions of 1.36 (cel-go 0.26) and of 1.37 (cel-go 0.29)."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.access.authorization_conditions import compiled_condition
from gateway.access.expressions import ExpressionError
from gateway.access.issuers.programs import program
from gateway.cel.compiled_rules import compile_rules
from gateway.cel.definition_rules import validate_definition_rules
from gateway.cel.devices import check_selector
from gateway.cel.edition import FIRST, Edition
from gateway.cel.editions import SECOND, edition_of, edition_of_new
from gateway.cel.environment import Environment
from gateway.cel.program import EvaluationResult, compile_expression
from gateway.cel.schema_types import declare
from gateway.cel.source import CompilationError
from gateway.cel.types import DYN, STRING
from gateway.kinds.strategies.expressions import PolicyCompilers
from gateway.release.gates import Gates
from gateway.validation.expressions import Use

BOTH = pytest.mark.parametrize("edition", [FIRST, SECOND], ids=lambda each: each.name)
MINORS = ("1.36", "1.37")


def evaluated(text: str, edition: Edition, **variables: Any) -> EvaluationResult:
    types = {name: STRING if isinstance(value, str) else DYN for name, value in variables.items()}
    return compile_expression(text, Environment(types, edition=edition)).evaluate(variables)


SET: Any = {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}
KEYED: Any = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["k"],
    "items": {"type": "object", "properties": {"k": {"type": "string"}}},
}


def holds(schema: Any, text: str, value: Any, edition: Edition) -> bool | str:
    """Whether a rule holds for a value, or the error."""
    declared = declare(schema, edition=edition)
    assert declared is not None and declared.convert is not None
    (rule,) = compile_rules([{"rule": text}], schema, declared, edition)
    assert rule.program is not None, rule.error
    outcome = rule.program.evaluate({"self": declared.convert(value, {})})
    return outcome.error or bool(outcome.value)


def test_new_expressions_use_only_functions_that_earlier_replicas_have() -> None:
    assert [edition_of(Gates(minor).enabled) for minor in MINORS] == [FIRST, SECOND]
    assert "includes" in edition_of_new(Gates("1.37").enabled).absent
    assert edition_of_new(Gates("1.37", compatible="1.37").enabled) is SECOND


def test_a_number_is_no_duration_from_1_37_on() -> None:
    assert evaluated("duration(3000000000) == duration('3s')", FIRST).value
    with pytest.raises(CompilationError, match=r"found no matching overload for 'duration' applied to '\(int\)'"):
        evaluated("duration(3000000000)", SECOND)
    assert evaluated("duration(x)", SECOND, x=3).error.startswith("no such overload")


@pytest.mark.parametrize(
    ("text", "before", "after"),
    [
        ("'ab'.indexOf('', 9)", 9, 2),
        ("'ab'.lastIndexOf('', 9)", 9, 2),
        ("'ab'.indexOf('', 1)", 1, 1),
        ("'ab'.indexOf('', -1)", -1, "index out of range: -1"),
        ("'abcb'.indexOf('b', 2)", 3, 3),
        ("lists.range(-1)", [], "lists.range: size must be non-negative, got -1"),
        ("lists.range(2)", [0, 1], [0, 1]),
    ],
)
def test_functions_have_the_bounds_of_cel_go_0_29_from_1_37_on(text: str, before: Any, after: Any) -> None:
    found = [evaluated(text, edition) for edition in (FIRST, SECOND)]
    assert [outcome.error or outcome.value for outcome in found] == [before, after]


def test_a_longer_range_than_a_million_is_refused_from_1_37_on() -> None:
    error = evaluated("lists.range(n)", SECOND, n=1_000_001).error
    assert error == "lists.range: size 1000001 exceeds maximum allowed (1000000)"


@pytest.mark.parametrize("text", ["x.startsWith('ab')", "x.endsWith('ab')"])
def test_an_affix_costs_by_its_own_length_from_1_37_on(text: str) -> None:
    costs = [evaluated(text, edition, x="a" * 1000).cost for edition in (FIRST, SECOND)]
    assert costs[0] - costs[1] == 99


def test_matches_costs_the_same_as_a_function_and_as_a_member_from_1_37_on() -> None:
    costs = [
        [evaluated(text, edition, x="a" * 1000).cost for text in ("matches(x, 'a*bcd')", "x.matches('a*bcd')")]
        for edition in (FIRST, SECOND)
    ]
    assert costs[0][0] < costs[0][1] == costs[1][0] == costs[1][1]


@pytest.mark.parametrize(
    ("schema", "text", "before", "after"),
    [
        (SET, "self == ['a', 'a']", True, False),
        (SET, "self == ['b', 'a']", True, True),
        (SET, "dyn(self) == ['a', 'a']", True, False),
        (SET, "['a', 'b'] == self", True, True),
        (SET, "self + ['b', 'c', 'c'] == ['a', 'c', 'b']", True, True),
        (SET, "self + self == self", True, True),
        (KEYED, "self + self == self", True, True),
        (KEYED, "self == self.filter(a, a.k == 'a') + self.filter(a, a.k == 'a')", True, False),
    ],
)
def test_a_set_equals_no_list_with_duplicates_from_1_37_on(schema: Any, text: str, before: bool, after: bool) -> None:
    value = ["a", "b"] if schema is SET else [{"k": "a"}, {"k": "b"}]
    assert [holds(schema, text, value, edition) for edition in (FIRST, SECOND)] == [before, after]


def test_a_set_of_maps_cannot_be_compared_from_1_37_on() -> None:
    schema = {**SET, "items": {"type": "object", "properties": {"k": {"type": "string"}}}}
    assert holds(schema, "self == self", [{"k": "a"}], FIRST) is True
    assert holds(schema, "self == self", [{"k": "a"}], SECOND) == (
        "listSet operations are only supported on lists of scalar values"
    )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[1, 2].includes(2)", True),
        ("[1, 2].includes('a')", False),
        ("x.includes('a')", True),
        ("x.includes('b')", False),
        ("[[1]].includes([1])", True),
    ],
)
def test_a_list_or_a_value_includes_an_item(text: str, found: bool) -> None:
    assert evaluated(text, SECOND, x="a").value is found
    with pytest.raises(CompilationError, match="undeclared reference to 'includes'"):
        evaluated(text, FIRST, x="a")


def test_a_stored_expression_may_use_includes_before_a_new_one() -> None:
    text = "[1].includes(1)"
    policy: Any = {"metadata": {"name": "p"}, "spec": {"validations": [{"expression": text}]}}
    found = {}
    for compatible in ("1.36", "1.37"):
        enabled = Gates("1.37", compatible=compatible).enabled
        for old in (None, policy):
            fault = PolicyCompilers(old, enabled)(False, False).check(text, Use.CONDITION)
            found[compatible, old is not None] = "" if fault is None else fault.message
    assert "undeclared reference to 'includes'" in found.pop(("1.36", False))
    assert set(found.values()) == {""}


@pytest.mark.parametrize(
    ("properties", "refused"), [({}, False), ({"metadata": {"properties": {"name": {"maxLength": 5}}}}, False)]
)
def test_a_name_has_at_most_253_characters_in_estimates_from_1_37_on(properties: Any, refused: bool) -> None:
    rule = "self.metadata.name.split('').all(a, self.metadata.generateName.split('').all(b, a == b))"
    schema = {"type": "object", "properties": properties, "x-kubernetes-validations": [{"rule": rule}]}
    before, after = (validate_definition_rules(schema, "s", [], edition=edition) for edition in (FIRST, SECOND))
    assert before and bool(after) is refused


@BOTH
def test_the_name_in_a_schema_is_the_bound_if_it_is_shorter(edition: Edition) -> None:
    text = {"type": "string", "maxLength": 3}
    schema: Any = {
        "type": "object",
        "properties": {"metadata": {"type": "object", "properties": {"name": text, "generateName": text}}},
        "x-kubernetes-validations": [{"rule": "self.metadata.name.split('').all(a, a == self.metadata.name)"}],
    }
    assert bool(validate_definition_rules(schema, "s", [], edition=edition)) is (edition is FIRST)


def test_selectors_of_devices_are_of_the_edition_of_new_expressions() -> None:
    def errors(text: str, minor: str, compatible: str = "") -> list[str]:
        return [str(error) for error in check_selector(text, "at", Gates(minor, compatible=compatible).enabled)]

    assert errors("duration(5) == duration('5s')", "1.36") == []
    assert "no matching overload for 'duration'" in errors("duration(5) == duration('5s')", "1.37")[0]
    assert "undeclared reference to 'includes'" in errors("[1].includes(1)", "1.37")[0]
    assert errors("[1].includes(1)", "1.37", "1.37") == []
    assert "undeclared reference to 'distinct'" in errors("[1].distinct() == [1]", "1.34")[0]
    assert errors("[1].distinct() == [1]", "1.35") == []


def test_new_rules_of_a_definition_have_no_functions_of_lists_in_1_34() -> None:
    assert "sort" in edition_of_new(Gates("1.34").enabled).absent
    assert "sort" not in edition_of_new(Gates("1.35").enabled).absent


def test_expressions_of_configuration_files_have_all_functions_of_the_edition() -> None:
    old, new = (Gates(minor).enabled for minor in MINORS)
    compiled_condition("duration(5) == duration('5s')", old)
    program("duration(5) == duration('5s')", "claims", old, true=True)
    for wrong in (
        lambda: compiled_condition("duration(5) == duration('5s')", new),
        lambda: program("duration(5) == duration('5s')", "user", new, true=True),
        lambda: compiled_condition("[1].includes(1)", old),
        lambda: program("[1].includes(1)", "claims", old, true=True),
    ):
        with pytest.raises(ExpressionError):
            wrong()
    compiled_condition("[1].includes(1)", new)
    program("[1].includes(1)", "claims", new, true=True)
