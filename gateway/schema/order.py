"""The order in which Go writes members: struct fields as declared, map keys sorted. Compiled once for each type.

To Go, custom objects are maps. Raw JSON keeps its order in built-in objects, and is sorted in custom ones.

Parts that are in order already are not copied: the result shares them with its input.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import is_not
from typing import Any

from gateway.schema.types import Type, TypeKind, compiled

Order = Callable[[Any], Any]


@compiled
def orderer(type_: Type) -> Order | None:
    """Returns a function that brings a value into Go's order; None for a type whose values have no members."""
    match type_.kind:
        case TypeKind.STRUCT:
            return _struct(type_)
        case TypeKind.MAP if type_.elem is not None:
            return _map(type_.elem)
        case TypeKind.LIST if type_.elem is not None and _has_members(type_.elem):
            return _list(type_.elem)
        case TypeKind.ANY if type_.structural:
            return _sorted_deep
        case _:
            return None


def in_go_order(type_: Type, value: Any) -> Any:
    """The value with its members in Go's order."""
    order = orderer(type_)
    return value if order is None else order(value)


def _has_members(type_: Type) -> bool:
    if type_.kind is TypeKind.LIST and type_.elem is not None:
        return _has_members(type_.elem)
    return type_.kind in (TypeKind.STRUCT, TypeKind.MAP) or (type_.kind is TypeKind.ANY and type_.structural)


PLANS = 256  # how many plans a struct remembers: one for each sequence of members that came

Nested = list[tuple[str, Order]]  # members that have members themselves
Plan = tuple[bool, list[str], Nested]  # whether members come in Go's order, Go's order, members with members


def _struct(type_: Type) -> Order:
    rank: dict[str, Any] = {name: index for index, name in enumerate(type_.fields)}
    last = len(rank)
    by_rank: Callable[[str], Any] | None = None if type_.structural else lambda name: rank.get(name, last)
    order_of = _member_orders(type_)
    plans: dict[tuple[str, ...], Plan] = {}

    def plan_for(names: tuple[str, ...]) -> Plan:
        if len(plans) >= PLANS:
            plans.clear()
        ordered = sorted(names, key=by_rank)
        nested = [(name, order) for name in ordered if (order := order_of(name)) is not None]
        plan = plans[names] = ordered == list(names), ordered, nested
        return plan

    def order(value: Any) -> Any:
        if type(value) is not dict:
            return value
        names = tuple(value)
        in_order, ordered, nested = plans.get(names) or plan_for(names)
        result = value if in_order else {name: value[name] for name in ordered}
        for name, order_member in nested:
            member = value[name]
            again = order_member(member)
            if again is not member:
                if result is value:
                    result = value.copy()
                result[name] = again
        return result

    return order


def _member_orders(type_: Type) -> Callable[[str], Order | None]:
    """Returns a function that finds the order of a member. It refers to the types of members, not to `type_` itself."""
    fields, elem, structural = type_.fields, type_.elem, type_.structural

    def order_of(name: str) -> Order | None:
        field = fields.get(name)
        if field is not None:
            return orderer(field.type) if _has_members(field.type) else None
        if not structural:
            return None
        return _sorted_deep if elem is None else orderer(elem)

    return order_of


def _sorted_deep(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _sorted_deep(value[name]) for name in sorted(value)}
    return [_sorted_deep(item) for item in value] if isinstance(value, list) else value


def _map(elem: Type) -> Order:
    order = orderer(elem) if _has_members(elem) else None

    def sort(value: Any) -> Any:
        if type(value) is not dict or (order is None and len(value) < 2):
            return value
        names = sorted(value)
        if order is None:
            return value if names == list(value) else {name: value[name] for name in names}
        return {name: order(value[name]) for name in names}

    return sort


def _list(elem: Type) -> Order:
    def order_items(value: Any) -> Any:
        order = orderer(elem)
        if order is None or type(value) is not list:
            return value
        items = [order(item) for item in value]
        return items if any(map(is_not, items, value)) else value

    return order_items
