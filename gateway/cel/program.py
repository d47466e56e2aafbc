"""Expressions ready to be evaluated: `compile_expression` makes a `Program`, `Program.evaluate` computes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from gateway.cel.ast import Call, Comprehension, Ident, ListLiteral, Literal, MapLiteral, Node, Select, StructLiteral
from gateway.cel.checker import check
from gateway.cel.costs import PER_EXPRESSION
from gateway.cel.environment import Environment
from gateway.cel.meter import new_frame
from gateway.cel.metrics import COMPILATION
from gateway.cel.parser import parse
from gateway.cel.plan import (
    TYPED,
    Constant,
    Evaluate,
    Planner,
    Planners,
    Trust,
    plan_list,
    plan_map,
    plan_struct,
)
from gateway.cel.plan_attributes import plan_attribute, plan_ident, plan_presence
from gateway.cel.plan_calls import plan_call
from gateway.cel.plan_folds import plan_fold
from gateway.cel.types import CelType
from gateway.cel.validators import validate
from gateway.cel.values import CostExceeded, EvaluationError


@dataclass(slots=True)
class EvaluationResult:
    """The result of an evaluation: a value, or an error message ("" for none), and the cost."""

    value: Any
    error: str
    cost: int


@dataclass(slots=True, eq=False)
class Program:
    """A compiled expression: the type of its value, its checked tree, and the closure that computes it."""

    text: str
    type: CelType
    tree: Node
    variables: list[str]
    size: int
    fixed: int
    run: Evaluate

    def evaluate(self, variables: Mapping[str, Any], limit: int = PER_EXPRESSION) -> EvaluationResult:
        """Computes the expression. Raises nothing: errors, and a cost over `limit`, are in the outcome."""
        frame = [*new_frame(self.fixed, limit), *map(variables.get, self.variables)]
        frame += [None] * (self.size - len(frame))
        try:
            value = self.run(frame)
            if frame[0] > limit:
                raise CostExceeded
        except EvaluationError as error:
            return EvaluationResult(None, str(error), frame[0])
        except CostExceeded as error:
            return EvaluationResult(None, str(error), frame[0])
        except RecursionError:
            return EvaluationResult(None, "internal error: the expression nests too deeply", frame[0])
        except AttributeError:  # as below: an object stored under an earlier schema has other types
            return EvaluationResult(
                None, "invalid data, expected a map for the provided schema with type=object", frame[0]
            )
        except (TypeError, ValueError):
            return EvaluationResult(None, "no such overload", frame[0])
        return EvaluationResult(value, "", frame[0])


_PLANNERS: Planners = {
    Literal: lambda planner, node: Constant(node.value),
    Ident: plan_ident,
    Select: lambda planner, node: plan_presence(planner, node) if node.test_only else plan_attribute(planner, node, 1),
    Call: plan_call,
    ListLiteral: plan_list,
    MapLiteral: plan_map,
    Comprehension: plan_fold,
    StructLiteral: plan_struct,
}


class InstantiationError(Exception):
    """An expression is well typed, but one of its constants can't be computed."""


def compile_expression(text: str, environment: Environment, trust: Trust = TYPED) -> Program:
    """Parses, checks and plans an expression.

    Raises CompilationError (with cel-go's message) and InstantiationError.
    """
    began = perf_counter()
    try:
        tree = check(text, parse(text, environment.libraries), environment)
        validate(text, tree)
        return plan(text, tree, environment, trust)
    finally:
        COMPILATION.observe(perf_counter() - began)


def plan(text: str, tree: Node, environment: Environment, trust: Trust) -> Program:
    """Plans a checked expression. Raises InstantiationError."""
    variables = list(environment.variables)
    planner = Planner(environment, _PLANNERS, trust)
    try:
        run, fixed = planner.measured(tree)
    except EvaluationError as error:
        raise InstantiationError(str(error)) from None
    return Program(text, tree.type, tree, variables, planner.size, fixed, run)
