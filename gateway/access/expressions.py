"""CEL expressions of configuration files. They are compiled once; errors have kube-apiserver's messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gateway.cel.edition import Edition
from gateway.cel.environment import Environment, Structs
from gateway.cel.program import InstantiationError, Program, compile_expression
from gateway.cel.source import CompilationError
from gateway.cel.types import DYN, CelType, describe

LONGEST = 100 << 10  # characters


class ExpressionError(Exception):
    """An expression cannot be compiled or evaluated; the message says why."""


def compiled(
    text: str, variable: tuple[str, CelType], structs: Structs, returns: Sequence[CelType], edition: Edition
) -> Program:
    """Compiles an expression over one variable, of which the name and the type are given.

    `returns` are the types that the expression may have. Raises ExpressionError.
    """
    if len(text) > LONGEST:
        raise ExpressionError(f"it is longer than {LONGEST} characters")
    try:
        program = compile_expression(text, Environment(dict([variable]), structs, edition=edition))
    except CompilationError as error:
        raise ExpressionError(f"compilation failed: {error}") from None
    except InstantiationError as error:
        raise ExpressionError(f"program instantiation failed: {error}") from None
    if DYN not in returns and program.type not in returns:
        if len(returns) == 1:
            raise ExpressionError(f"must evaluate to {describe(returns[0])} but got {describe(program.type)}")
        raise ExpressionError(f"must evaluate to one of [{' '.join(map(describe, returns))}]")
    return program


def value_of(program: Program, variables: Mapping[str, Any]) -> Any:
    """Evaluates a program for the values of its variables. Raises ExpressionError."""
    outcome = program.evaluate(variables)
    if outcome.error:
        raise ExpressionError(f"expression '{program.text}' resulted in error: {outcome.error}")
    return outcome.value
