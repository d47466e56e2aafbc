"""Whether a CEL expression reads a claim."""

from __future__ import annotations

from dataclasses import fields, is_dataclass

from gateway.cel.ast import Call, Ident, Literal, Node, Select
from gateway.cel.parser import parse
from gateway.cel.source import CompilationError

_OPTIONAL_SELECT = "_?._"


def selects(text: str, claim: str) -> bool:
    """Whether `claims.CLAIM` or `claims.?CLAIM` occurs in an expression."""
    try:
        return _occurs(parse(text), claim)
    except CompilationError:
        return False


def _occurs(value: object, claim: str) -> bool:
    match value:
        case Select(operand=Ident(name="claims"), field=field) if field == claim:
            return True
        case Call(function=function, target=None, arguments=[Ident(name="claims"), Literal(value=field)]):
            if function == _OPTIONAL_SELECT and field == claim:
                return True
    if isinstance(value, list):
        return any(_occurs(each, claim) for each in value)
    if is_dataclass(value) and type(value).__module__ == Node.__module__:
        return any(_occurs(getattr(value, each.name), claim) for each in fields(value))
    return False
