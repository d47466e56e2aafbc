"""The syntax tree of an expression.

`at` is a node's offset in the text. The checker sets the type of each node, and the possible overloads of each call.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gateway.cel.types import DYN, CelType


@dataclass(slots=True, eq=False)
class Node:
    """The base class of nodes: offset in the text, and type (DYN until the checker has set it)."""

    at: int
    type: CelType = field(default=DYN, init=False)


@dataclass(slots=True, eq=False)
class Literal(Node):
    """A constant."""

    value: Any


@dataclass(slots=True, eq=False)
class Ident(Node):
    """A name. `constant` is set by the checker for the name of a type: the type's value."""

    name: str
    constant: Any = field(default=None, init=False)


@dataclass(slots=True, eq=False)
class Select(Node):
    """`operand.field`; with `test_only`, `has(operand.field)`."""

    operand: Node
    field: str
    test_only: bool = False


@dataclass(slots=True, eq=False)
class Call(Node):
    """A call of an operator or function. `target` is the receiver: `x` in `x.f(y)`."""

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
    """A fold over a list or a map. Macros like `all` and `map` are expanded to it."""

    range: Node
    variable: str
    variable2: str
    accumulator: str
    initial: Node
    condition: Node
    step: Node
    result: Node


def qualified_name(node: Node) -> str | None:
    """The dotted name (`a.b.c`) of a node that has only identifiers and selections, else None."""
    match node:
        case Ident(name=name):
            return name
        case Select(operand=operand, field=name, test_only=False):
            prefix = qualified_name(operand)
            return None if prefix is None else f"{prefix}.{name}"
    return None


class TooManyNodes(Exception):
    """The copies of an expression's nodes exceed the limit."""


class Copies:
    """Copies trees, because the checker gives each copy its own types. Copies at most `left` nodes in all."""

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
