"""Label selectors: the full grammar of apimachinery's `labels.Parse`, with its messages.

API Concepts and "Labels and Selectors": equality (=, ==, !=), set (in, notin, key, !key) and the integer comparisons
(>, <) that the parser also takes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from gateway.memo import memo
from gateway.schema.integers import int64
from gateway.validation.field import go_quote
from gateway.validation.names import is_label_value, is_qualified_name

Matcher = Callable[[dict[str, str]], bool]


class SelectorError(ValueError):
    """The selector can't be parsed; the client gets the message with a 400."""


class Requirement(NamedTuple):
    key: str
    operator: str  # "in", "notin", "exists", "!", "gt", "lt"; = and != are in and notin with one value
    values: frozenset[str]


_INT64_DIGITS = 19
MOST_PARTS = 10_000  # requirements and values of a selector
MOST_TOLD = 100  # wrong values that an error message describes: a description is many times longer than the value
MOST_REQUIREMENTS = 2_000  # of a selector; each takes some 10 us

_TOKEN = re.compile(r"[!=]=|[=!(),><]|[^=!(),>< \t\r\n]+")
_SYMBOLS = frozenset([")", ",", "!", "==", "=", ">", "<", "!=", "("])
_WORDS = frozenset(["in", "notin"])
_OPERATORS = {"in": "in", "=": "in", "==": "in", ">": "gt", "<": "lt", "notin": "notin", "!=": "notin"}
_NEEDS_KEY = frozenset(["in", "exists", "gt", "lt"])
_FEW = 4  # a selector of at most so many requirements is checked requirement by requirement
_BINARY = "in, notin, =, ==, !=, gt, lt"

_Token = tuple[str, str]  # (class, literal); classes: "id", the symbol itself, "in"/"notin", "" at the end


def _scan(text: str) -> list[str]:
    """The tokens up to a NUL or the end. The last one is empty: it stands for the end."""
    if text.count(",") >= MOST_PARTS:
        raise SelectorError(f"selector has more than {MOST_PARTS} parts")
    return [*_TOKEN.findall(text.partition("\0")[0]), ""]


class _Parser:
    def __init__(self, text: str) -> None:
        self.tokens, self.at = _scan(text), 0
        self.end = len(self.tokens) - 1

    def peek(self) -> _Token:
        literal = self.tokens[self.at] if self.at < self.end else ""
        return (literal if literal in _SYMBOLS or not literal else "id"), literal

    def take(self, operator: bool = False) -> _Token:
        kind, literal = self.peek()
        self.at += 1
        return (literal if operator and literal in _WORDS else kind), literal

    def parse(self) -> list[Requirement]:
        found: list[Requirement] = []
        while True:
            kind, literal = self.peek()
            if kind == "":
                return found
            if kind not in ("id", "!"):
                raise SelectorError(f"found '{literal}', expected: !, identifier, or 'end of string'")
            if len(found) >= MOST_REQUIREMENTS:
                raise SelectorError(f"selector has more than {MOST_REQUIREMENTS} requirements")
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
        if len(errors) >= MOST_TOLD:
            break
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


@memo(4 << 20, share=100)  # a requirement takes much more than its text
def parse_requirements(text: str) -> list[Requirement]:
    """The requirements of a selector, all of which have to hold. Raises SelectorError."""
    return _Parser(text).parse()


def parse(text: str) -> Matcher | None:
    """A predicate on labels, None when the selector selects everything. Raises SelectorError."""
    return matcher(parse_requirements(text))


def matcher(requirements: Sequence[Requirement]) -> Matcher | None:
    """A predicate on labels that all requirements hold for; None without requirements."""
    if len(requirements) > _FEW:
        return _many(requirements)
    matchers = [_matcher(requirement) for requirement in requirements]
    if not matchers:
        return None
    if len(matchers) == 1:
        return matchers[0]
    return lambda labels: all(matches(labels) for matches in matchers)


def exact_value(requirements: Iterable[Requirement]) -> tuple[str, str] | None:
    """Key and value of the first requirement that allows only one value that is not empty; None without one."""
    for requirement in requirements:
        if requirement.operator == "in" and len(requirement.values) == 1 and "" not in requirement.values:
            return requirement.key, next(iter(requirement.values))
    return None


def _many(requirements: Sequence[Requirement]) -> Matcher:
    """A predicate whose time depends on the number of an object's labels, not on the number of requirements."""
    needed = frozenset(requirement.key for requirement in requirements if requirement.operator in _NEEDS_KEY)
    groups: dict[tuple[str, str], list[Requirement]] = {}
    for requirement in requirements:
        groups.setdefault((requirement.key, requirement.operator), []).append(requirement)
    by_key: dict[str, list[Matcher]] = {}
    for (key, operator), group in groups.items():
        by_key.setdefault(key, []).append(_matcher(Requirement(key, operator, _together(operator, group))))

    def matches(labels: dict[str, str]) -> bool:
        if len(needed) > len(labels) or not needed <= labels.keys():
            return False
        return all(check(labels) for key in labels if key in by_key for check in by_key[key])

    return matches


def _together(operator: str, requirements: list[Requirement]) -> frozenset[str]:
    """Merges requirements of the same key and operator into one that has the same effect: its values."""
    if len(requirements) == 1:
        return requirements[0].values
    values = [requirement.values for requirement in requirements]
    match operator:
        case "in":
            return frozenset.intersection(*values)
        case "gt" | "lt":
            strictest = max if operator == "gt" else min
            return frozenset([strictest(frozenset.union(*values), key=int)])
        case _:
            return frozenset.union(*values)
