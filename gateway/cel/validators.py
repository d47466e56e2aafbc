"""The validators of Kubernetes' CEL environment: further checks of well-typed expressions.

They refuse invalid literals, lists and maps of mixed types, and formats that do not fit their arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gateway.cel.ast import Call, Comprehension, Ident, ListLiteral, Literal, MapLiteral, Node, Select, StructLiteral
from gateway.cel.conversions import string_to_duration, string_to_timestamp
from gateway.cel.format_function import KINDS, ClauseError, interpolate
from gateway.cel.moments import timestamp_of_seconds
from gateway.cel.source import CompilationError, Problem
from gateway.cel.types import CelType, Kind, describe, is_optional, same
from gateway.cel.values import INT_MAX, INT_MIN, EvaluationError
from gateway.validation.go_regexp import regexp_problem

_FORMATTABLE = {
    Kind.LIST,
    Kind.MAP,
    Kind.INT,
    Kind.UINT,
    Kind.DOUBLE,
    Kind.BOOL,
    Kind.STRING,
    Kind.TIMESTAMP,
    Kind.BYTES,
    Kind.DURATION,
    Kind.TYPE,
    Kind.NULL,
}
_CLAUSES = {
    "s": _FORMATTABLE,
    "d": {Kind.INT, Kind.UINT},
    "f": {Kind.DOUBLE, Kind.STRING},
    "e": {Kind.DOUBLE, Kind.STRING},
    "b": {Kind.INT, Kind.UINT, Kind.BOOL},
    "x": {Kind.INT, Kind.UINT, Kind.STRING, Kind.BYTES},
    "o": {Kind.INT, Kind.UINT},
}


def validate(text: str, tree: Node) -> None:
    """Runs all validators on a checked tree. Raises CompilationError."""
    found = _Findings()
    found.visit(tree, exempt=False)
    problems = found.durations + found.timestamps + found.patterns + found.lists + found.maps + found.formats
    if problems:
        raise CompilationError(text, problems)


class _Findings:
    """The problems of each validator. `validate` reports them in cel-go's order."""

    __slots__ = ("durations", "formats", "lists", "maps", "patterns", "timestamps")

    def __init__(self) -> None:
        self.durations = list[Problem]()
        self.timestamps = list[Problem]()
        self.patterns = list[Problem]()
        self.lists = list[Problem]()
        self.maps = list[Problem]()
        self.formats = list[Problem]()

    def visit(self, node: Node, exempt: bool) -> None:
        """Checks a node and all nodes below it. `exempt`: the node is in the arguments of `format`."""
        kind = type(node)
        if kind is Call:
            self._call(node)  # type: ignore[arg-type]  # `kind` is compared above
            exempt = exempt or node.function == "format"  # type: ignore[attr-defined]
        elif kind is Ident or kind is Literal:
            return
        elif kind is ListLiteral and not exempt:
            self._list(node)  # type: ignore[arg-type]
        elif kind is MapLiteral and not exempt:
            self._map(node)  # type: ignore[arg-type]
        for child in children(node):
            self.visit(child, exempt)

    def _call(self, node: Call) -> None:
        first = node.arguments[0] if node.arguments else None
        if node.function == "format" and isinstance(node.target, Literal) and isinstance(first, ListLiteral):
            self._format(node, node.target, first)
        if not isinstance(first, Literal):
            return
        match node.function:
            case "duration":
                if _fails(string_to_duration, first.value):
                    self.durations.append(Problem(first.at, "invalid duration argument"))
            case "timestamp":
                if _fails(_timestamp, first.value):
                    self.timestamps.append(Problem(first.at, "invalid timestamp argument"))
            case "matches":
                if type(first.value) is str and regexp_problem(first.value):
                    self.patterns.append(Problem(first.at, "invalid matches argument"))

    def _list(self, node: ListLiteral) -> None:
        wanted: CelType | None = None
        for at, element in enumerate(node.elements):
            given = _inner(element.type) if at in node.optional else element.type
            wanted = wanted or given
            if not same(wanted, given):
                self.lists.append(_mismatch(element, wanted, given))
                break

    def _map(self, node: MapLiteral) -> None:
        if not node.entries:
            return
        first = node.entries[0]
        keys, values = first.key.type, _inner(first.value.type) if first.optional else first.value.type
        for entry in node.entries[1:]:
            given = _inner(entry.value.type) if entry.optional else entry.value.type
            if not same(keys, entry.key.type):
                self.maps.append(_mismatch(entry.key, keys, entry.key.type))
            if not same(values, given):
                self.maps.append(_mismatch(entry.value, values, given))

    def _format(self, node: Call, text: Literal, arguments: ListLiteral) -> None:
        used, at = 0, node.at

        def check(argument: int, letter: str, places: int | None) -> str:
            nonlocal used, at
            used += 1
            wrong = _unformattable(arguments.elements[argument], letter)
            if wrong is not None:
                at = wrong.at
                raise ClauseError(KINDS[letter.lower()].format(wrong.type.name))
            return ""

        if type(text.value) is not str:
            return
        try:
            interpolate(text.value, len(arguments.elements), check)
        except ClauseError as error:
            self.formats.append(Problem(at, str(error)))
            return
        if len(arguments.elements) > used:
            counts = f"(expected {used}, got {len(arguments.elements)})"
            self.formats.append(Problem(node.at, f"too many arguments supplied to string.format {counts}"))


def children(node: Node) -> list[Node]:
    """The child nodes of a node."""
    below = _BELOW.get(type(node))
    return below(node) if below is not None else []


_BELOW: dict[type[Node], Callable[[Any], list[Node]]] = {
    Select: lambda node: [node.operand],
    Call: lambda node: node.arguments if node.target is None else [node.target, *node.arguments],
    ListLiteral: lambda node: node.elements,
    MapLiteral: lambda node: [part for entry in node.entries for part in (entry.key, entry.value)],
    StructLiteral: lambda node: [field.value for field in node.fields],
    Comprehension: lambda node: [node.range, node.initial, node.condition, node.step, node.result],
}


def _fails(convert: object, value: object) -> bool:
    if type(value) is not str and convert is string_to_duration:
        return not (type(value) is int and INT_MIN <= value <= INT_MAX)
    try:
        convert(value)  # type: ignore[operator]
    except EvaluationError:
        return True
    return False


def _timestamp(value: object) -> object:
    return timestamp_of_seconds(value) if type(value) is int else string_to_timestamp(str(value))


def _inner(of: CelType) -> CelType:
    return of.parameters[0] if is_optional(of) else of


def _mismatch(node: Node, wanted: CelType, given: CelType) -> Problem:
    return Problem(node.at, f"expected type '{describe(wanted)}' but found '{describe(given)}'")


def _unformattable(node: Node, letter: str) -> Node | None:
    """The first node that the clause `letter` cannot format; None if it can format all."""
    if node.type.kind is not Kind.DYN and node.type.kind not in _CLAUSES[letter.lower()]:
        return node
    if letter != "s":
        return None
    if isinstance(node, ListLiteral):
        return next((wrong for each in node.elements if (wrong := _unformattable(each, "s"))), None)
    if isinstance(node, MapLiteral):
        parts = (part for entry in node.entries for part in (entry.key, entry.value))
        return next((wrong for each in parts if (wrong := _unformattable(each, "s"))), None)
    return None
