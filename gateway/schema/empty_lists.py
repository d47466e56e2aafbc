"""Turns empty lists into null in fields that are always written, as storage in protobuf does. Compiled once for a type.

kube-apiserver stores its own kinds in protobuf, which has no empty lists. Before storage there is a difference: an
empty list that was sent has a manager.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gateway.schema.types import Omit, Type, TypeKind, compiled

_REFUSED = {("v1.CustomResourceDefinitionSpec", "versions")}
"""Fields whose empty lists are refused, so that none goes through storage: clients are told what they sent."""

_STRINGS = "stringData"  # whose members replace those of the bytes

Nulled = Callable[[Any], None]


def null_empty_lists(type_: Type, value: Any) -> None:
    """Makes null, in place, of the empty lists that storage does not keep."""
    nulled = _nuller(type_)
    if nulled is not None:
        nulled(value)


def _through(type_: Type) -> Nulled:
    """Stands for the function that is being compiled, in types that lead back to themselves."""
    return lambda value: null_empty_lists(type_, value)


def _compile(type_: Type) -> Nulled | None:
    """None for a type in whose values there are no such fields."""
    if type_.kind is TypeKind.STRUCT:
        return _struct(type_)
    element = _nuller(type_.elem) if type_.elem is not None and type_.kind in (TypeKind.LIST, TypeKind.MAP) else None
    if element is None:
        return None
    null_in_each = _each(element)
    return null_in_each if type_.kind is TypeKind.LIST else lambda members: null_in_each(members.values())


_nuller = compiled(_compile, meanwhile=_through)


def _struct(type_: Type) -> Nulled | None:
    fields = type_.fields.values()
    written = [
        field.name
        for field in fields
        if field.omit is Omit.NEVER and field.type.kind is TypeKind.LIST and (type_.name, field.name) not in _REFUSED
    ]
    below = [(field.name, nulled) for field in fields if (nulled := _nuller(field.type)) is not None]
    if not written and not below:
        return None

    def null_in_struct(value: Any) -> None:
        if type(value) is not dict:
            return
        for name in written:
            if value.get(name) == []:
                value[name] = None
        for name, nulled in below:
            member = value.get(name)
            if member:
                nulled(member)

    return null_in_struct


def _each(nulled: Nulled) -> Nulled:
    def null_in_each(values: Any) -> None:
        for value in values:
            nulled(value)

    return null_in_each


def unstored(type_: Type, value: Any) -> tuple[str, ...]:
    """The names of an object's maps of bytes of which storage keeps less than Go makes of what was sent, any JSON.

    An empty map is absent then, and bytes that are null are empty. Where Go compares what a client sends with what is
    stored, by reflect.DeepEqual, both are changes.
    """
    names = _maps_of_bytes(type_)
    if not names or not isinstance(value, dict):
        return ()
    return tuple(name for name in names if _differs(value.get(name), value.get(_STRINGS) or {}))


@compiled
def _maps_of_bytes(type_: Type) -> tuple[str, ...]:
    if type_.structural:
        return ()
    fields = type_.fields.values()
    return tuple(
        field.name
        for field in fields
        if field.type.kind is TypeKind.MAP and field.type.element().kind is TypeKind.BYTES
    )


def _differs(given: Any, strings: Any) -> bool:
    if not isinstance(given, dict):
        return False
    if not given:
        return not strings
    return None in given.values() and any(item is None and key not in strings for key, item in given.items())
