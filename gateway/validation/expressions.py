"""What validation asks of the compiler of CEL expressions: `gateway/cel/policies.py` and `devices.py` answer.

Validation lies below the compiler; strategies, which lie above both, bring them together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Protocol

from gateway.validation.field import FieldError, internal, invalid

LONG = 2_000  # characters of expressions, which take 10 ms to compile


class Use(Enum):
    """What an expression of a policy or webhook is there for: that decides what it may name and has to be."""

    CONDITION = auto()
    MESSAGE = auto()
    AUDIT_ANNOTATION = auto()
    VARIABLE = auto()
    APPLY_CONFIGURATION = auto()
    JSON_PATCH = auto()


@dataclass(frozen=True, slots=True)
class Fault:
    """Why an expression cannot be used, in kube-apiserver's words; `internal` where that is not the client's fault."""

    message: str
    internal: bool = False

    def at(self, path: str, text: str) -> FieldError:
        """The fault as the error of a field."""
        return internal(path, self.message) if self.internal else invalid(path, text, self.message)


class Expressions(Protocol):
    """The expressions of one policy or webhook, which are checked in the order of the object."""

    def check(self, text: str, use: Use) -> Fault | None:
        """What is wrong with an expression."""
        ...

    def define(self, name: str, text: str) -> Fault | None:
        """What is wrong with the expression of a variable, which later expressions can name in any case."""
        ...


# (whether there are params, whether there may be variables) -> a compiler that knows no variable yet
NewExpressions = Callable[[bool, bool], Expressions]
# what is wrong with the selector of a device (its text, the field's path)
CheckSelector = Callable[[str, str], list[FieldError]]
