"""The syntax tree of an expression.

A node knows where it starts in the text. Checking gives it its type, and calls the overloads that may be meant.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gateway.cel.types import DYN, Type


@dataclass(slots=True, eq=False)
class Node:
    """Any node."""

    at: int
    type: Type = field(default=DYN, init=False)


@dataclass(slots=True, eq=False)
class Literal(Node):
    """A constant."""

    value: Any


@dataclass(slots=True, eq=False)
class Ident(Node):
    """A name; `constant` once it is found to stand for a value that never changes."""

    name: str
    constant: Any = field(default=None, init=False)


@dataclass(slots=True, eq=False)
class Select(Node):
    """`operand.field`, or whether the field is there."""

    operand: Node
    field: str
    test_only: bool = False


@dataclass(slots=True, eq=False)
class Call(Node):
    """An operator or function, with or without the value before its dot."""

    function: str
    target: Node | None
    arguments: list[Node]
    overloads: list[str] = field(default_factory=list, init=False)


@dataclass(slots=True, eq=False)
class ListLiteral(Node):
    """`[a, ?b]`; `optional` has the indices of elements after a question mark."""

    elements: list[Node]
    optional: frozenset[int] = frozenset()


@dataclass(slots=True, eq=False)
class MapEntry:
    """`key: value` in a map literal."""

    at: int
    key: Node
    value: Node
    optional: bool = False


@dataclass(slots=True, eq=False)
class MapLiteral(Node):
    """`{a: b, ?c: d}`."""

    entries: list[MapEntry]


@dataclass(slots=True, eq=False)
class FieldInit:
    """`name: value` in an object literal."""

    at: int
    name: str
    value: Node
    optional: bool = False


@dataclass(slots=True, eq=False)
class StructLiteral(Node):
    """`Name{field: value}`."""

    name: str
    fields: list[FieldInit]


@dataclass(slots=True, eq=False)
class Comprehension(Node):
    """What macros like all and map become: a fold over a list or a map."""

    range: Node
    variable: str
    variable2: str
    accumulator: str
    initial: Node
    condition: Node
    step: Node
    result: Node


def qualified_name(node: Node) -> str | None:
    """The dotted name that a node may be, if it consists of names alone."""
    match node:
        case Ident(name=name):
            return name
        case Select(operand=operand, field=name, test_only=False):
            prefix = qualified_name(operand)
            return None if prefix is None else f"{prefix}.{name}"
    return None


class TooManyNodes(Exception):
    """Copying would make more of a tree than is allowed."""


class Copies:
    """Copies trees, so that each copy can be given types of its own; no more than `left` nodes in all."""

    __slots__ = ("left",)

    def __init__(self, left: int) -> None:
        self.left = left

    def all(self, nodes: list[Node]) -> list[Node]:
        """Copies of several trees; raises TooManyNodes."""
        return [self.of(each) for each in nodes]

    def of(self, node: Node) -> Node:
        """A copy of a tree; raises TooManyNodes."""
        self.left -= 1
        if self.left < 0:
            raise TooManyNodes
        match node:
            case Literal():
                return Literal(node.at, node.value)
            case Ident():
                return Ident(node.at, node.name)
            case Select():
                return Select(node.at, self.of(node.operand), node.field, node.test_only)
            case Call():
                target = None if node.target is None else self.of(node.target)
                return Call(node.at, node.function, target, self.all(node.arguments))
            case ListLiteral():
                return ListLiteral(node.at, self.all(node.elements), node.optional)
            case MapLiteral():
                return MapLiteral(node.at, [self._entry(each) for each in node.entries])
            case StructLiteral():
                fields = [FieldInit(each.at, each.name, self.of(each.value), each.optional) for each in node.fields]
                return StructLiteral(node.at, node.name, fields)
            case Comprehension():
                names = node.variable, node.variable2, node.accumulator
                parts = self.all([node.initial, node.condition, node.step, node.result])
                return Comprehension(node.at, self.of(node.range), *names, *parts)
        raise TypeError(node)

    def _entry(self, entry: MapEntry) -> MapEntry:
        return MapEntry(entry.at, self.of(entry.key), self.of(entry.value), entry.optional)
