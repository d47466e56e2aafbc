"""A quick test whether a value conforms to its type, compiled for each type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gateway.apply.shapes import Shape, element_of, is_open, item_identity, members_of, shape_of
from gateway.schema.types import FORMATTED, FREE_OBJECT, Type, TypeKind, compiled

Test = Callable[[Any], bool]

_MAX_PLANS = 1024

_CONTAINERS = frozenset({TypeKind.STRUCT, TypeKind.MAP, TypeKind.LIST, TypeKind.ANY})
_NUMBER: frozenset[type] = frozenset({int, float, type(None)})
_SCALAR: frozenset[type] = frozenset({str, int, float, bool, type(None)})
_PLAIN: dict[TypeKind, frozenset[type]] = {
    TypeKind.STRING: frozenset({str, type(None)}),
    TypeKind.BYTES: frozenset({str, type(None)}),
    TypeKind.BOOL: frozenset({bool, type(None)}),
    TypeKind.INT32: _NUMBER,
    TypeKind.INT64: _NUMBER,
    TypeKind.FLOAT: _NUMBER,
}


@compiled
def fits(type_: Type) -> Test:
    """A test of values. True: the value conforms. False: it may not conform, and `nonconformity` must check it."""
    match type_.kind:
        case TypeKind.STRUCT:
            return _struct_test(type_)
        case TypeKind.MAP:
            return _map_test(type_)
        case TypeKind.LIST:
            return _list_test(type_)
        case TypeKind.ANY if type_.name == FREE_OBJECT:
            return lambda value: value is None or isinstance(value, dict)
        case TypeKind.ANY:
            return lambda value: True
        case TypeKind.INT_OR_STRING:
            return lambda value: True
    plain = _plain(type_)
    return lambda value: type(value) in plain


def _plain(type_: Type) -> frozenset[type]:
    """The Python types of a scalar type's values."""
    return _SCALAR if type_.name == FORMATTED else _PLAIN.get(type_.kind, _SCALAR)


def _struct_test(type_: Type) -> Test:
    """Tests structs. The scalar members are checked once for each combination of member names and Python types."""
    plans: dict[tuple[tuple[str, ...], tuple[type, ...]], list[tuple[str, Test]]] = {}
    member_of, fields, open_ = members_of(type_), type_.fields, is_open(type_)

    def planned(value: dict[str, Any]) -> list[tuple[str, Test]] | None:
        inner: list[tuple[str, Test]] = []
        for name, member in value.items():
            if name not in fields and not open_:
                return None
            member_type = member_of(name)
            if member_type.kind in _CONTAINERS or shape_of(member_type) is Shape.FREE:
                inner.append((name, fits(member_type)))
            elif type(member) not in _plain(member_type):
                return None
        if len(plans) > _MAX_PLANS:
            plans.clear()
        plans[tuple(value), tuple(map(type, value.values()))] = inner
        return inner

    def test(value: Any) -> bool:
        if not isinstance(value, dict):
            return value is None
        inner = plans.get((tuple(value), tuple(map(type, value.values()))))
        if inner is None:
            inner = planned(value)
            if inner is None:
                return False
        for name, holds in inner:  # noqa: SIM110 (all() would cost a generator)
            if not holds(value[name]):
                return False
        return True

    return test


def _map_test(type_: Type) -> Test:
    element = element_of(type_)
    plain, inner = _plain(element) if element.kind in _PLAIN else None, fits(element)

    def test(value: Any) -> bool:
        if not isinstance(value, dict):
            return value is None
        if plain is not None:
            return plain.issuperset(map(type, value.values()))
        return all(map(inner, value.values()))

    return test


def _list_test(type_: Type) -> Test:
    element = element_of(type_)
    plain, inner = _plain(element) if element.kind in _PLAIN else None, fits(element)
    identity = item_identity(type_) if shape_of(type_) is not Shape.LEAF else None

    def test(value: Any) -> bool:
        if not isinstance(value, list):
            return value is None
        if plain is not None:
            sound = plain.issuperset(map(type, value))
        else:
            sound = all(map(inner, value))
        return sound and (identity is None or not value or _are_distinct(value, identity))

    return test


def _are_distinct(items: list[Any], identity: Callable[[Any], Any]) -> bool:
    """Whether all items have keys, and no two the same."""
    try:
        keys = {identity(item) for item in items}
    except (AttributeError, TypeError):
        return False
    return len(keys) == len(items) and None not in keys
