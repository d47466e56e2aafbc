"""Compilers of CEL expressions. Strategies pass them to gateway/validation, which may not import gateway/cel."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gateway.jsontypes import JsonObject
from gateway.release.gates import Enabled
from gateway.time_limits import TakesLong, on_loop
from gateway.validation.expressions import LONG, ExpressionFault, Expressions, Use
from gateway.validation.field import FieldError


class _Patience:
    """How many more characters of expressions may be compiled on the event loop."""

    def __init__(self) -> None:
        self.characters = LONG

    def spend(self, text: str) -> None:
        """Counts the characters of `text`. Raises TakesLong on the event loop when there are too many."""
        self.characters -= len(text)
        if self.characters < 0 and on_loop():
            raise TakesLong


class _Patient:
    """Compiles expressions until the patience is used up."""

    def __init__(self, expressions: Expressions, patience: _Patience) -> None:
        self._expressions, self._patience = expressions, patience

    def check(self, text: str, use: Use) -> ExpressionFault | None:
        self._patience.spend(text)
        return self._expressions.check(text, use)

    def define(self, name: str, text: str) -> ExpressionFault | None:
        self._patience.spend(text)
        return self._expressions.define(name, text)


class PolicyCompilers:
    """Makes the compilers of one policy or webhook configuration. They raise TakesLong for many or long expressions.

    Expressions that `old` has may use all functions; new expressions only the functions that the release allows them.
    """

    def __init__(self, old: JsonObject | None, enabled: Enabled) -> None:
        self._patience, self._enabled, self._old = _Patience(), enabled, old

    def __call__(self, params: bool, composed: bool) -> Expressions:
        from gateway.cel.editions import edition_of, edition_of_new  # few objects have expressions
        from gateway.cel.policies import PolicyExpressions

        edition = edition_of(self._enabled)
        absent = edition_of_new(self._enabled).absent - edition.absent
        kept = frozenset(_expressions(self._old)) if absent else ()
        return _Patient(PolicyExpressions(params, composed, absent, kept, edition), self._patience)


_EXPRESSIONS = frozenset({"expression", "messageExpression", "valueExpression"})


def _expressions(value: Any) -> Iterator[str]:
    """Yields all expressions in an object, at any depth."""
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
    """Checks the new CEL device selectors of one object. Raises TakesLong for many or long ones."""

    def __init__(self, enabled: Enabled) -> None:
        self._patience, self._enabled = _Patience(), enabled

    def __call__(self, text: str, path: str) -> list[FieldError]:
        from gateway.cel.devices import check_selector

        self._patience.spend(text)
        return check_selector(text, path, self._enabled)
