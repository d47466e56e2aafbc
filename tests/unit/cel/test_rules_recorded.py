"""Expressions, rules and objects get the answers that kube-apiserver's own packages give (see hack/cel_answers.py)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gateway.cel.definition_rules import validate_definition_rules
from gateway.cel.rules import compile_schema
from gateway.validation.definition_schema import NO_RULES, validate_schema
from tests.unit.cel.recorded import answer, answer_rule, answer_validation, answers, document, server_answers
from tests.upstream.cel_server import with_rule

ROOT_PATH = "spec.validation.openAPIV3Schema"


# a text that is made of others has a bound here: what is made of it costs less at most (kubernetes 141984)
BOUNDED = frozenset(
    {'["a","b"].join()', '["a","b"].join(",")', '[dyn("a")].join(",")', '[dyn(1)].join(",")', '["a"].join("é")'}
)


def _comparable(one: dict[str, Any]) -> dict[str, Any]:
    # what was spent before a failure depends on the order of evaluation alone, and nobody sees it
    one = {key: value for key, value in one.items() if not (key == "cost" and "failure" in one)}
    return {"instantiation": one["instantiation"]} if "instantiation" in one else one


def _differences(cases: list[Any], wanted: list[Any], given: list[Any]) -> list[Any]:
    return [
        (case, want, have)
        for case, want, have in zip(cases, wanted, given, strict=True)
        if _comparable(want) != _comparable(have)
    ]


def test_expressions_have_the_recorded_types_values_costs_and_errors() -> None:
    cases = document()["expressions"]
    found = _differences(cases, answers()["expressions"], [answer(each) for each in cases])
    for case, want, have in found:
        assert case in BOUNDED and have["maxCost"] < want["maxCost"], (case, want, have)
        assert _comparable({**want, "maxCost": 0}) == _comparable({**have, "maxCost": 0})
    assert {case for case, _, _ in found} == BOUNDED


def test_rules_have_the_recorded_outcomes_costs_and_errors() -> None:
    cases = document()["rules"]
    assert not _differences(cases, answers()["rules"], [answer_rule(each) for each in cases])


def test_objects_break_the_recorded_rules() -> None:
    cases = document()["validations"]
    recorded = [
        {"errors": sorted(each["errors"]), "warnings": sorted(each["warnings"])} for each in answers()["validations"]
    ]
    assert not _differences(cases, recorded, [answer_validation(each) for each in cases])


@pytest.mark.parametrize("kind", ["expressions", "rules", "validations"])
def test_every_case_has_an_answer(kind: str) -> None:
    assert len(document()[kind]) == len(answers()[kind])


def test_definitions_are_refused_for_the_causes_that_a_kube_apiserver_gives() -> None:
    cases, wanted = document()["rules"], server_answers()["definitions"]
    checks = replace(NO_RULES, definition=validate_definition_rules)
    given = [
        sorted(
            [each.field, each.body] for each in validate_schema(with_rule(case, document()), ROOT_PATH, False, checks)
        )
        for case in cases
    ]
    assert [pair for pair in zip(cases, wanted, given, strict=True) if pair[1] != pair[2]] == []


@pytest.mark.parametrize("case", server_answers()["objects"], ids=lambda case: case["self"])
def test_objects_are_refused_for_the_causes_that_a_kube_apiserver_gives(case: dict[str, Any]) -> None:
    rules = compile_schema(document()["schemas"][case["schema"]])
    assert rules is not None
    errors, _ = rules.validate({**document()["objects"][case["self"]], "kind": "Thing"})
    assert sorted([each.field, each.body] for each in errors) == case["causes"]
