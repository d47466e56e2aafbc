"""Converts objects of declared types to CEL maps, for expressions of type dyn."""

from __future__ import annotations

from typing import Any

from gateway.cel.meter import CACHE
from gateway.cel.names import escape
from gateway.cel.schema_types import SchemaDeclaration, SchemaTypes
from gateway.cel.types import CelType, Kind
from gateway.cel.values import KeyedList, SetList


def holds_objects(of: CelType) -> bool:
    """Whether a type is an object type, or has one among its parameters."""
    return of.kind is Kind.STRUCT or any(map(holds_objects, of.parameters))


def native(value: Any, of: CelType, structs: SchemaTypes, frame: list[Any], *, whole: bool = False) -> Any:
    """The value with its objects as maps from escaped field names to converted values.

    `whole`: include members that the schema does not have. Expressions cannot name them, but equality compares them.
    """
    if of.kind is Kind.STRUCT and (declared := structs.of(of.name)) is not None:
        return _object(value, declared, frame[CACHE], whole)
    if of.kind is Kind.LIST and isinstance(value, list):
        return like(value, [native(each, of.parameters[0], structs, frame, whole=whole) for each in value])
    if of.kind is Kind.MAP and isinstance(value, dict):
        return {name: native(each, of.parameters[1], structs, frame, whole=whole) for name, each in value.items()}
    return value


def like(value: list[Any], items: list[Any]) -> list[Any]:
    """The items as a list of the same class as `value`. The keys of a keyed list get their escaped names."""
    if type(value) is KeyedList:
        return KeyedList(items, tuple(escape(key) or key for key in value.keys), value.strict)
    return SetList(items, value.strict) if type(value) is SetList else items


def _object(value: Any, declared: SchemaDeclaration, cache: dict[int, Any], whole: bool) -> Any:
    if type(value) is not dict or declared.fields is None:
        return value
    key = -id(value) - whole
    made = cache.get(key)
    if made is None:
        made = {
            written: _converted(found, below, cache, whole)
            for written, (name, below) in declared.fields.items()
            if (found := value.get(name)) is not None
        }
        if whole:
            known = {name for name, _ in declared.fields.values()}
            made |= {(name,): found for name, found in value.items() if name not in known}
        cache[key] = made
    return made


def _converted(value: Any, declared: SchemaDeclaration, cache: dict[int, Any], whole: bool) -> Any:
    if declared.convert is not None:
        value = declared.convert(value, cache)
    if declared.fields is not None:
        return _object(value, declared, cache, whole)
    if declared.element is None:
        return value
    element = declared.element
    if element.fields is None and element.element is None:
        return value
    if isinstance(value, list):
        return like(value, [_converted(each, element, cache, whole) for each in value])
    if isinstance(value, dict):
        return {name: _converted(each, element, cache, whole) for name, each in value.items()}
    return value
