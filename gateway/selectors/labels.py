"""Label selectors: the full grammar of apimachinery's `labels.Parse`, with its messages.

API Concepts and "Labels and Selectors": equality (=, ==, !=), set (in, notin, key, !key) and the integer comparisons
(>, <) that the parser also takes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from gateway.schema.integers import int64
from gateway.validation.field import go_quote
from gateway.validation.names import is_label_value, is_qualified_name

Matcher = Callable[[dict[str, str]], bool]


class SelectorError(ValueError):
    """The selector can't be read; the message is what the client gets with a 400."""


class Requirement(NamedTuple):
    key: str
    operator: str  # "in", "notin", "exists", "!", "gt", "lt"; = and != are in and notin with one value
    values: frozenset[str]


_SPECIAL = frozenset("=!(),><")
_SPACE = frozenset(" \t\r\n")
_SYMBOLS = frozenset([")", ",", "!", "==", "=", ">", "<", "!=", "("])
_OPERATORS = {"in": "in", "=": "in", "==": "in", ">": "gt", "<": "lt", "notin": "notin", "!=": "notin"}
_BINARY = "in, notin, =, ==, !=, gt, lt"
_END = ("", "")

_Token = tuple[str, str]  # (class, literal); classes: "id", the symbol itself, "in"/"notin", "" at the end


def _scan(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    at, size = 0, len(text)
    while at < size and text[at] != "\0":
        if text[at] in _SPACE:
            at += 1
            continue
        start = at
        if text[at] in _SPECIAL:
            at += 1
            while at < size and text[start : at + 1] in _SYMBOLS:
                at += 1
            tokens.append((text[start:at], text[start:at]))
            continue
        while at < size and text[at] not in _SPECIAL and text[at] not in _SPACE and text[at] != "\0":
            at += 1
        word = text[start:at]
        tokens.append((word if word in ("in", "notin") else "id", word))
    tokens.append(_END)
    return tokens


class _Parser:
    def __init__(self, text: str) -> None:
        self.tokens, self.at = _scan(text), 0

    def peek(self) -> _Token:
        kind, literal = self.tokens[min(self.at, len(self.tokens) - 1)]
        return ("id" if kind in ("in", "notin") else kind), literal

    def take(self, operator: bool = False) -> _Token:
        token = self.tokens[min(self.at, len(self.tokens) - 1)] if operator else self.peek()
        self.at += 1
        return token

    def parse(self) -> list[Requirement]:
        found: list[Requirement] = []
        while True:
            kind, literal = self.peek()
            if kind == "":
                return found
            if kind not in ("id", "!"):
                raise SelectorError(f"found '{literal}', expected: !, identifier, or 'end of string'")
            try:
                found.append(self.requirement())
            except SelectorError as error:
                raise SelectorError(f"unable to parse requirement: {error}") from None
            kind, literal = self.take()
            if kind == "":
                return found
            if kind != ",":
                raise SelectorError(f"found '{literal}', expected: ',' or 'end of string'")
            kind, literal = self.peek()
            if kind not in ("id", "!"):
                raise SelectorError(f"found '{literal}', expected: identifier after ','")

    def requirement(self) -> Requirement:
        kind, key = self.take()
        absent = kind == "!"
        if absent:
            kind, key = self.take()
        if kind != "id":
            raise SelectorError(f"found '{key}', expected: identifier")
        _check("<nil>", key, is_qualified_name(key))
        if absent:
            return Requirement(key, "!", frozenset())
        if self.peek()[0] in ("", ","):
            return Requirement(key, "exists", frozenset())
        kind, literal = self.take(operator=True)
        operator = _OPERATORS.get(kind)
        if operator is None:
            raise SelectorError(f"found '{literal}', expected: {_BINARY}")
        values = self.values() if kind in ("in", "notin") else self.exact_value()
        return _checked(key, operator, values)

    def exact_value(self) -> set[str]:
        if self.peek()[0] in ("", ","):
            return {""}
        kind, literal = self.take()
        if kind != "id":
            raise SelectorError(f"found '{literal}', expected: identifier")
        return {literal}

    def values(self) -> set[str]:
        kind, literal = self.take()
        if kind != "(":
            raise SelectorError(f"found '{literal}' expected: '('")
        kind, literal = self.peek()
        if kind == ")":
            self.take()
            return {""}
        if kind not in ("id", ","):
            raise SelectorError(f"found '{literal}', expected: ',', ')' or identifier")
        found: set[str] = set()
        while True:
            kind, literal = self.take()
            if kind == "id":
                found.add(literal)
                after, literal = self.peek()
                if after not in (",", ")"):
                    raise SelectorError(f"found '{literal}', expected: ',' or ')'")
                if after == ")":
                    break
            elif kind == ",":
                if not found:
                    found.add("")
                after = self.peek()[0]
                if after in (",", ")"):
                    found.add("")
                if after == ")":
                    break
            else:
                raise SelectorError(f"found '{literal}', expected: ',', or identifier")
        self.take()
        return found


def _check(path: str, value: str, messages: list[str] | tuple[str, ...]) -> None:
    if messages:
        raise SelectorError(_error(path, value, messages))


def _error(path: str, value: str, messages: list[str] | tuple[str, ...]) -> str:
    return f"{path}: Invalid value: {go_quote(value)}: {'; '.join(messages)}"


def _checked(key: str, operator: str, values: set[str]) -> Requirement:
    errors: list[str] = []
    for i, value in enumerate(sorted(values)):
        if operator in ("gt", "lt") and int64(value) is None:
            errors.append(_error(f"values[{i}]", value, ["for 'Gt', 'Lt' operators, the value must be an integer"]))
        if messages := is_label_value(value):
            errors.append(_error(f"values[{i}][{key}]", value, messages))
    if errors:
        raise SelectorError(f"[{', '.join(errors)}]" if len(errors) > 1 else errors[0])
    return Requirement(key, operator, frozenset(values))


def _matcher(requirement: Requirement) -> Matcher:
    key, operator, values = requirement
    match operator:
        case "in" if len(values) == 1:
            (only,) = values
            return lambda labels: labels.get(key) == only
        case "in":
            return lambda labels: labels.get(key) in values
        case "notin":
            return lambda labels: labels.get(key) not in values
        case "exists":
            return lambda labels: key in labels
        case "!":
            return lambda labels: key not in labels
        case _:
            bound = int(next(iter(values)))
            return lambda labels: _compares(labels.get(key), operator, bound)


def _compares(value: str | None, operator: str, bound: int) -> bool:
    number = None if value is None else int64(value)
    return number is not None and (number > bound if operator == "gt" else number < bound)


@lru_cache(maxsize=1024)
def parse(text: str) -> Matcher | None:
    """A predicate on labels, None when the selector selects everything. Raises SelectorError."""
    matchers = [_matcher(requirement) for requirement in _Parser(text).parse()]
    if not matchers:
        return None
    if len(matchers) == 1:
        return matchers[0]
    return lambda labels: all(matches(labels) for matches in matchers)
