"""Estimates the cost of an expression from the sizes that the schema allows.

The numbers are those of cel-go's cost estimator and of Kubernetes' libraries. A CustomResourceDefinition is refused if
the estimate of a rule is too high, so they must be the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gateway.cel.ast import (
    Call,
    Comprehension,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
    Node,
    Select,
    StructLiteral,
)
from gateway.cel.costs import LIST_BASE, MAP_BASE, STRUCT_BASE
from gateway.cel.edition import FIRST, Edition
from gateway.cel.estimated_calls import Argument, Estimate, estimate_call
from gateway.cel.macros import ACCUMULATOR
from gateway.cel.schema_types import SchemaDeclaration
from gateway.cel.sizes import EMPTY_UNION, NOTHING, ONE, UNKNOWN, SizeRange, fixed
from gateway.cel.types import ANY, SCALARS, STRING, CelType, Kind, is_optional

Path = tuple[str, ...]
_FIXED_SIZE = SCALARS - {Kind.STRING, Kind.BYTES}


def estimate(
    tree: Node, root: SchemaDeclaration | None, edition: Edition = FIRST, variable: str | None = None
) -> SizeRange:
    """The least and the greatest cost of a checked expression. `root` declares the sizes of its variables.

    With a `variable`, `root` has the sizes of that variable alone. Without one, items of a list from a function have
    the sizes of the items of `root`, as in kube-apiserver.
    """
    return _Estimator(root, edition, variable).cost(tree)


@dataclass(slots=True)
class _Entries:
    """The sizes of the keys and values of a list or map."""

    is_list: bool
    key: SizeRange
    value: SizeRange

    def union(self, other: _Entries | None) -> _Entries | None:
        if other is None:
            return None
        return _Entries(self.is_list, self.key.union(other.key), self.value.union(other.value))


@dataclass(slots=True)
class _Local:
    path: Path | None
    size: SizeRange | None
    entries: _Entries | None


class _Estimator:
    __slots__ = ("_edition", "_entries", "_locals", "_paths", "_root", "_sizes", "_variable")

    def __init__(self, root: SchemaDeclaration | None, edition: Edition, variable: str | None) -> None:
        self._root, self._edition, self._variable = root, edition, variable
        self._paths = dict[int, Path]()
        self._sizes = dict[int, SizeRange]()
        self._entries = dict[int, _Entries]()
        self._locals = dict[str, list[_Local]]()

    def cost(self, node: Node) -> SizeRange:
        """The cost of a node with all nodes below it."""
        return _BY_NODE[type(node)](self, node)

    def _ident(self, node: Ident) -> SizeRange:
        local = self._local(node.name)
        self._paths[id(node)] = (local.path or ()) if local is not None else (node.name,)
        return ONE

    def _struct(self, node: StructLiteral) -> SizeRange:
        total = fixed(STRUCT_BASE)
        for each in node.fields:
            total = total.plus(self.cost(each.value))
        return total

    def _local(self, name: str) -> _Local | None:
        stack = self._locals.get(name)
        return stack[-1] if stack else None

    def _push(self, name: str, local: _Local) -> None:
        self._locals.setdefault(name, []).append(local)

    def _path(self, node: Node) -> Path:
        if isinstance(node, Ident) and (local := self._local(node.name)) is not None:
            return local.path or ()
        return self._paths.get(id(node), ())

    def _select(self, node: Select) -> SizeRange:
        total = self.cost(node.operand)
        if node.test_only:
            return total
        if node.operand.type.kind in (Kind.MAP, Kind.STRUCT, Kind.PARAMETER):
            total = total.plus(ONE)
        self._paths[id(node)] = (*self._path(node.operand), node.field)
        return total

    def _call(self, node: Call) -> SizeRange:
        if node.function == "dyn":
            return self._dyn(node)
        costs = [self.cost(each) for each in node.arguments]
        arguments = [self._argument(each) for each in node.arguments]
        total, target = NOTHING, None
        if node.target is not None:
            total = self.cost(node.target)
            target = self._argument(node.target)
        spent, size = EMPTY_UNION, None
        for overload in node.overloads:
            found = self._overload(node, overload, target, arguments, costs)
            spent = spent.union(found.cost)
            if found.size is not None:
                size = found.size if size is None else size.union(found.size)
            if overload in ("index_list", "index_map"):
                size = self._index(node, overload)
            if size is None:
                size = self._size(node)
        if size is not None:
            self._sizes[id(node)] = size
        return total.plus(spent) if node.overloads else NOTHING

    def _index(self, node: Call, overload: str) -> SizeRange | None:
        entries = self._entries_of(node.arguments[0])
        self._paths[id(node)] = (*self._path(node.arguments[0]), "@items" if overload == "index_list" else "@values")
        return None if entries is None else entries.value

    def _dyn(self, node: Call) -> SizeRange:
        argument = node.arguments[0]
        total = self.cost(argument).plus(ONE)
        self._copy(node, argument)
        return total

    def _copy(self, to: Node, of: Node) -> None:
        if (size := self._size(of)) is not None:
            self._sizes[id(to)] = size
        if (entries := self._entries_of(of)) is not None:
            self._entries[id(to)] = entries

    def _argument(self, node: Node) -> Argument:
        path = self._path(node)
        if path and path[0] in (ACCUMULATOR, "__result__"):
            path = ()
        entries = self._entries_of(node)
        items = entries.value if entries is not None and entries.is_list else None
        return Argument(node, node.type, path, self._size(node), self._size_at, items)

    def _overload(
        self, node: Call, overload: str, target: Argument | None, arguments: list[Argument], costs: list[SizeRange]
    ) -> Estimate:
        spent = NOTHING
        for each in costs:
            spent = spent.plus(each)
        if overload == "matches" and self._edition.global_matches:
            overload, target, arguments = "matches_string", arguments[0], arguments[1:]
        known = estimate_call(node.function, overload, target, arguments)
        if known is not None:
            return Estimate(known.cost.plus(spent), known.size)
        match overload:
            case "logical_or" | "logical_and":
                return Estimate(SizeRange(costs[0].least, costs[0].plus(costs[1]).most))
            case "conditional":
                return self._conditional(node, arguments, costs)
            case "add_string" | "add_bytes" | "add_list":
                return self._concatenated(node, overload, arguments, spent)
        return Estimate(ONE.plus(spent))

    def _conditional(self, node: Call, arguments: list[Argument], costs: list[SizeRange]) -> Estimate:
        size = arguments[1].known.union(arguments[2].known)
        first = self._entries_of(node.arguments[1])
        if first is not None and (joined := first.union(self._entries_of(node.arguments[2]))) is not None:
            self._entries[id(node)] = joined
        return Estimate(costs[0].plus(costs[1].union(costs[2])), size)

    def _concatenated(self, node: Call, overload: str, arguments: list[Argument], spent: SizeRange) -> Estimate:
        size = arguments[0].known.plus(arguments[1].known)
        first = self._entries_of(node.arguments[0])
        if first is not None and (joined := first.union(self._entries_of(node.arguments[1]))) is not None:
            self._entries[id(node)] = joined
        own = ONE if overload == "add_list" else size.scaled(0.1)
        return Estimate(own.plus(spent), size)

    def _list(self, node: ListLiteral) -> SizeRange:
        total, item = fixed(LIST_BASE), EMPTY_UNION if node.elements else NOTHING
        for each in node.elements:
            total = total.plus(self.cost(each))
            item = item.union(self._size(each) or UNKNOWN)
        self._entries[id(node)] = _Entries(True, ONE, item)
        return total

    def _map(self, node: MapLiteral) -> SizeRange:
        total, start = fixed(MAP_BASE), EMPTY_UNION if node.entries else NOTHING
        key, value = start, start
        for entry in node.entries:
            total = total.plus(self.cost(entry.key)).plus(self.cost(entry.value))
            key = key.union(self._size(entry.key) or UNKNOWN)
            value = value.union(self._size(entry.value) or UNKNOWN)
        self._entries[id(node)] = _Entries(False, key, value)
        return total

    def _fold(self, node: Comprehension) -> SizeRange:
        total = self.cost(node.range).plus(self.cost(node.initial))
        initial = _Local(self._path(node.initial), self._size(node.initial), self._entries_of(node.initial))
        self._push(node.accumulator, initial)
        names = self._iteration(node)
        turn = self.cost(node.condition)
        turn = turn.plus(self.cost(node.step))
        for name in names:
            self._locals[name].pop()
        total = total.plus(self.cost(node.result))
        self._locals[node.accumulator].pop()
        turns = self._size(node.range) or UNKNOWN
        if isinstance(node.initial, Literal):
            if (size := self._size(node.initial)) is not None:
                self._sizes[id(node)] = size
        elif isinstance(node.initial, ListLiteral | MapLiteral):
            self._sizes[id(node)] = turns
            if (entries := self._entries_of(node.step)) is not None:
                self._entries[id(node)] = entries
        return total.plus(turns.times(turn))

    def _iteration(self, node: Comprehension) -> list[str]:
        """Declares the iteration variables, and returns their names."""
        entries, path = self._entries_of(node.range), self._path(node.range)
        is_list = entries.is_list if entries is not None else node.range.type.kind is Kind.LIST
        key, value = (None, None) if entries is None else (entries.key, entries.value)
        if node.variable2:
            self._push(node.variable, _Local((*path, "@indices" if is_list else "@keys"), key, None))
            self._push(node.variable2, _Local((*path, "@items" if is_list else "@values"), value, None))
            return [node.variable, node.variable2]
        single = _Local((*path, "@items"), value, None) if is_list else _Local((*path, "@keys"), key, None)
        self._push(node.variable, single)
        return [node.variable]

    def _bound(self, node: Comprehension) -> SizeRange:
        total = self.cost(node.range).plus(self.cost(node.initial))
        bound = _Local(self._path(node.initial), self._size(node.initial), self._entries_of(node.initial))
        self._push(node.accumulator, bound)
        total = total.plus(self.cost(node.result))
        self._locals[node.accumulator].pop()
        self._copy(node, node.result)
        return total

    def _size(self, node: Node) -> SizeRange | None:
        if (known := self._sizes.get(id(node))) is not None:
            return known
        if (own := _own_size(node)) is not None:
            return own
        if (declared := self._size_at(self._path(node))) is not None:
            self._sizes[id(node)] = declared
            return declared
        if _has_fixed_size(node.type):
            return ONE
        if isinstance(node, Ident) and (local := self._local(node.name)) is not None:
            return local.size
        return None

    def _entries_of(self, node: Node) -> _Entries | None:
        if (known := self._entries.get(id(node))) is not None:
            return known
        if isinstance(node, Ident) and (local := self._local(node.name)) is not None:
            return local.entries
        return None

    def _size_at(self, path: Path) -> SizeRange | None:
        """The sizes of a value at a path of the schema, None if the schema does not have the path."""
        if not path or self._root is None or self._variable not in (None, path[0]):
            return None
        declared = self._root
        for name in path[1:]:
            below = _below(declared, name)
            if below is None:
                return None
            declared = below
        return SizeRange(0, declared.most)


_BY_NODE: dict[type[Node], Callable[[_Estimator, Any], SizeRange]] = {
    Literal: lambda estimator, node: NOTHING,
    Ident: _Estimator._ident,
    Select: _Estimator._select,
    Call: _Estimator._call,
    ListLiteral: _Estimator._list,
    MapLiteral: _Estimator._map,
    Comprehension: lambda estimator, node: estimator._bound(node) if _is_bound(node) else estimator._fold(node),
    StructLiteral: _Estimator._struct,
}


def _below(declared: SchemaDeclaration, name: str) -> SchemaDeclaration | None:
    if name in ("@items", "@values"):
        return declared.element
    if name == "@keys":
        return SchemaDeclaration(STRING, most=declared.longest_key) if declared.is_map else None
    found = (declared.fields or {}).get(name)
    if found is None and declared.element is not None and declared.element.scalar is ANY:
        return declared.element
    return None if found is None else found[1]


def _own_size(node: Node) -> SizeRange | None:
    if isinstance(node, Literal):
        return fixed(len(node.value)) if isinstance(node.value, str | bytes) else ONE
    if isinstance(node, ListLiteral):
        return fixed(len(node.elements))
    return fixed(len(node.entries)) if isinstance(node, MapLiteral) else None


def _has_fixed_size(of: CelType) -> bool:
    if is_optional(of):
        return _has_fixed_size(of.parameters[0])
    return of.kind in _FIXED_SIZE


def _is_bound(node: Comprehension) -> bool:
    condition: Any = node.condition
    return (
        isinstance(node.range, ListLiteral)
        and not node.range.elements
        and isinstance(condition, Literal)
        and condition.value is False
    )
