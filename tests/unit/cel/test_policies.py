"""Expressions of policies and devices, as a kube-apiserver 1.36.3 and its controller manager judged them.

policy_answers.json has the answers: pairs of an expression and the message ("" for none), and specs of policies with
the warnings in their status.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gateway.cel.devices import check_selector
from gateway.cel.policies import PolicyExpressions
from gateway.controllers.policy_status import checked_kinds
from gateway.controllers.policy_types import declared_type, expression_warnings, param_type
from gateway.kinds.builtin import builtin_registry
from gateway.release.gates import Gates
from gateway.validation.expressions import Use

ANSWERS = json.loads(Path(__file__).with_name("policy_answers.json").read_text())
REGISTRY = builtin_registry()


@pytest.mark.parametrize(("text", "message"), ANSWERS["policies"])
def test_expressions_of_policies_are_judged_as_recorded(text: str, message: str) -> None:
    fault = PolicyExpressions(params=True, composed=False).check(text, Use.CONDITION)
    assert (fault.at("x", text).body if fault else "") == message


@pytest.mark.parametrize(("text", "message"), ANSWERS["devices"])
def test_selectors_of_devices_are_judged_as_recorded(text: str, message: str) -> None:
    assert "".join(each.body for each in check_selector(text, "x", Gates("1.36").enabled)) == message


@pytest.mark.parametrize(
    "text",
    [
        "'abc'.findAll('[a-z]')[0].contains('abc')",
        "'abc'.findAll('[a-z]').exists(each, each.lowerAscii().matches('^[a-z]+$'))",
        "device.driver.split(',')[0].lowerAscii().matches('^[a-z]+$')",
    ],
)
def test_parts_of_a_device_s_text_count_as_texts_of_any_length(text: str) -> None:
    (error,) = check_selector(text, "x", Gates("1.37").enabled)
    assert error.body == "Forbidden: too complex, exceeds cost limit"


@pytest.mark.parametrize("case", ANSWERS["types"])
def test_types_are_checked_as_recorded(case: dict[str, Any]) -> None:
    spec = case["spec"]
    kinds = [(each.gvk, declared_type(each)) for each in checked_kinds(spec, REGISTRY)]
    assert expression_warnings(spec, kinds, param_type(spec, REGISTRY)) == case["warnings"]
