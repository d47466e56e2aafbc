"""The order in which Go writes members: struct fields as declared, map keys sorted. Compiled once a type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gateway.schema.types import Kind, Type

Order = Callable[[Any], Any]


def orderer(type_: Type) -> Order | None:
    """A function that gives a value in Go's order; None for a type whose values have no members."""
    if "order" not in type_.compiled:
        type_.compiled["order"] = _compile(type_)
    order: Order | None = type_.compiled["order"]
    return order


def in_go_order(type_: Type, value: Any) -> Any:
    """The value with its members in Go's order."""
    order = orderer(type_)
    return value if order is None else order(value)


def _compile(type_: Type) -> Order | None:
    match type_.kind:
        case Kind.STRUCT:
            return _struct(type_)
        case Kind.MAP if type_.elem is not None:
            return _map(type_.elem)
        case Kind.LIST if type_.elem is not None and _has_members(type_.elem):
            return _list(type_.elem)
        case _:
            return None


def _has_members(type_: Type) -> bool:
    if type_.kind is Kind.LIST and type_.elem is not None:
        return _has_members(type_.elem)
    return type_.kind in (Kind.STRUCT, Kind.MAP)


PLANS = 256  # combinations of members that are remembered for a struct


def _struct(type_: Type) -> Order:
    rank = {name: index for index, name in enumerate(type_.fields)}
    last = len(rank)
    plans: dict[tuple[str, ...], list[tuple[str, Order | None]]] = {}

    def plan_for(names: tuple[str, ...]) -> list[tuple[str, Order | None]]:
        if len(plans) >= PLANS:
            plans.clear()
        fields = type_.fields
        plan = plans[names] = [
            (name, orderer(fields[name].type) if name in fields and _has_members(fields[name].type) else None)
            for name in sorted(names, key=lambda name: rank.get(name, last))
        ]
        return plan

    def order(value: Any) -> Any:
        if type(value) is not dict:
            return value
        names = tuple(value)
        plan = plans.get(names) or plan_for(names)
        return {name: value[name] if nested is None else nested(value[name]) for name, nested in plan}

    return order


def _map(elem: Type) -> Order:
    order = orderer(elem) if _has_members(elem) else None

    def sort(value: Any) -> Any:
        if type(value) is not dict or (order is None and len(value) < 2):
            return value
        if order is None:
            return dict(sorted(value.items()))
        return {name: order(value[name]) for name in sorted(value)}

    return sort


def _list(elem: Type) -> Order:
    def order_items(value: Any) -> Any:
        order = orderer(elem)
        return value if order is None or type(value) is not list else [order(item) for item in value]

    return order_items
