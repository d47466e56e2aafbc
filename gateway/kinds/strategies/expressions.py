"""The compiler of CEL expressions for validation, which is a lower room than CEL: strategies pass it in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gateway.jsontypes import JsonObject
from gateway.release.gates import Enabled
from gateway.time_limits import TakesLong, on_loop
from gateway.validation.expressions import LONG, Expressions, Fault, Use
from gateway.validation.field import FieldError


class _Patience:
    """How much more may be compiled before an event loop has waited enough."""

    def __init__(self) -> None:
        self.characters = LONG

    def spend(self, text: str) -> None:
        """Raises TakesLong on an event loop when too much was compiled there."""
        self.characters -= len(text)
        if self.characters < 0 and on_loop():
            raise TakesLong


class _Patient:
    """Expressions that are compiled while there is patience."""

    def __init__(self, expressions: Expressions, patience: _Patience) -> None:
        self._expressions, self._patience = expressions, patience

    def check(self, text: str, use: Use) -> Fault | None:
        self._patience.spend(text)
        return self._expressions.check(text, use)

    def define(self, name: str, text: str) -> Fault | None:
        self._patience.spend(text)
        return self._expressions.define(name, text)


class PolicyCompilers:
    """Makes the compilers of one policy or webhook configuration; they raise TakesLong for many or long expressions.

    Expressions that `old` has may use all functions, others those that the release has for new ones.
    """

    def __init__(self, old: JsonObject | None, enabled: Enabled) -> None:
        self._patience, self._whole, self._old = _Patience(), enabled("CELListFunctions"), old

    def __call__(self, params: bool, composed: bool) -> Expressions:
        from gateway.cel.policies import PolicyExpressions  # few objects have expressions

        if self._whole:
            return _Patient(PolicyExpressions(params, composed), self._patience)
        from gateway.cel.declarations import LIST_FUNCTIONS

        kept = frozenset(_expressions(self._old))
        return _Patient(PolicyExpressions(params, composed, LIST_FUNCTIONS, kept), self._patience)


_EXPRESSIONS = frozenset({"expression", "messageExpression", "valueExpression"})


def _expressions(value: Any) -> Iterator[str]:
    """The expressions anywhere in an object."""
    if isinstance(value, list):
        for item in value:
            yield from _expressions(item)
    elif isinstance(value, dict):
        for name, member in value.items():
            if name in _EXPRESSIONS and isinstance(member, str):
                yield member
            elif isinstance(member, dict | list):
                yield from _expressions(member)


class SelectorCheck:
    """Checks the selectors of one object's devices; raises TakesLong for many or long ones."""

    def __init__(self) -> None:
        self._patience = _Patience()

    def __call__(self, text: str, path: str) -> list[FieldError]:
        from gateway.cel.devices import check_selector

        self._patience.spend(text)
        return check_selector(text, path)
