"""The interface of validation to the compiler of CEL expressions. `gateway/cel/policies.py` and `devices.py` have it.

Validation is below the compiler and cannot import it. Strategies are above both, and pass the compiler in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Protocol

from gateway.validation.field import FieldError, internal, invalid

LONG = 2_000  # characters of expressions; compiling them takes 10 ms


class Use(Enum):
    """What an expression of a policy or webhook is for. This decides its variables and the type of its result."""

    CONDITION = auto()
    MESSAGE = auto()
    AUDIT_ANNOTATION = auto()
    VARIABLE = auto()
    APPLY_CONFIGURATION = auto()
    JSON_PATCH = auto()


@dataclass(frozen=True, slots=True)
class ExpressionFault:
    """Why an expression cannot be used, in kube-apiserver's words. `internal`: it is not the client's fault."""

    message: str
    internal: bool = False

    def at(self, path: str, text: str) -> FieldError:
        """The fault as a field error at `path`; `text` is the expression."""
        return internal(path, self.message) if self.internal else invalid(path, text, self.message)


class Expressions(Protocol):
    """Compiles the expressions of one policy or webhook. Rules call it in the order of the object."""

    def check(self, text: str, use: Use) -> ExpressionFault | None:
        """The fault of an expression; None if it can be used."""
        ...

    def define(self, name: str, text: str) -> ExpressionFault | None:
        """The fault of a variable's expression, or None. Later expressions can use the variable even with a fault."""
        ...


# (whether there are params, whether there may be variables) -> a compiler without variables so far
NewExpressions = Callable[[bool, bool], Expressions]
# (the expression of a device selector, its path) -> errors
CheckSelector = Callable[[str, str], list[FieldError]]
