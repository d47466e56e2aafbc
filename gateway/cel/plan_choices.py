"""Plans `&&`, `||`, `?:`, `or` and `orValue`: an operand is computed, and charged, only if it is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateway.cel.ast import Call, Node
from gateway.cel.meter import COST, Frame
from gateway.cel.plan import Evaluate
from gateway.cel.plan_attributes import is_attribute, plan_attribute
from gateway.cel.values import EvaluationError, Optional, no_overload

if TYPE_CHECKING:
    from gateway.cel.plan import Planner


def plan_logical(planner: Planner, node: Call) -> Evaluate:
    """The closure of `&&` or `||`. If one operand decides the result, an error of the other one is ignored."""
    left = planner.plan(node.arguments[0])
    right, cost = planner.measured(node.arguments[1])
    decisive = node.function == "_||_"

    def evaluate(frame: Frame) -> Any:
        try:
            value = left(frame)
            if value is decisive:
                return decisive
            if type(value) is not bool:
                raise no_overload()
        except EvaluationError:
            frame[COST] += cost
            try:
                if right(frame) is decisive:
                    return decisive
            except EvaluationError:
                pass
            raise
        frame[COST] += cost
        other = right(frame)
        if type(other) is not bool:
            raise no_overload()
        return other

    return evaluate


def plan_conditional(planner: Planner, node: Call) -> Evaluate:
    """The closure of `condition ? chosen : other`."""
    condition = planner.plan(node.arguments[0])
    chosen, chosen_cost = planner.measured(node.arguments[1], lambda each: _branch(planner, each))
    other, other_cost = planner.measured(node.arguments[2], lambda each: _branch(planner, each))

    def evaluate(frame: Frame) -> Any:
        value = condition(frame)
        if value is True:
            frame[COST] += chosen_cost
            return chosen(frame)
        if value is False:
            frame[COST] += other_cost
            return other(frame)
        raise no_overload()

    return evaluate


def _branch(planner: Planner, node: Node) -> Evaluate:
    """The closure of a branch. In branches, cel-go does not charge the variable of a chain of selections."""
    return plan_attribute(planner, node, 0) if is_attribute(node) else planner.plan(node)


def plan_or_value(planner: Planner, node: Call) -> Evaluate:
    """The closure of `a.or(b)` or `a.orValue(b)`. b is computed only if a is empty. The call itself costs nothing."""
    assert node.target is not None  # both are member functions
    first = planner.plan(node.target)
    second, cost = planner.measured(node.arguments[0])
    unwrap = node.function == "orValue"

    def evaluate(frame: Frame) -> Any:
        value = first(frame)
        if type(value) is not Optional:
            return value
        if value.present:
            return value.value if unwrap else value
        frame[COST] += cost
        return second(frame)

    return evaluate
