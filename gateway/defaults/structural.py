"""Sets the defaults of a structural schema, and prunes nulls ("Defaulting and Nullable" of custom resources).

A null in a field that is not nullable is dropped, or replaced by the field's default. A null in a list stays unless the
items have a default. The rules are compiled once for a type.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from copy import deepcopy
from typing import Any

from gateway.jsontypes import dumps, loads
from gateway.schema.errors import MOST_DEFAULTS, TooManyDefaults, most_defaults
from gateway.schema.types import Type, TypeKind, compiled

MOST_MADE = 4 << 20
"""The most bytes of defaults, as JSON, that one object gets; more do not fit into etcd. The limit is needed because
each item of a list, three bytes of the request, may get thousands of bytes. `most_defaults` limits their number."""

Rule = Callable[[Any], None]


class _Left:
    """How many more bytes and values of defaults an object may get.

    The object is measured after its first MOST_DEFAULTS values, which few objects get. Its size includes these values.
    """

    __slots__ = ("_most", "_obj", "bytes", "values")

    def __init__(self, obj: Any, values: int = MOST_DEFAULTS) -> None:
        self.bytes, self._obj = MOST_MADE, obj
        self.values = self._most = values

    def spend(self, size: int, values: int) -> None:
        """Counts a default of `size` bytes, before it is made. Raises TooManyDefaults."""
        self.bytes -= size
        if self.bytes < 0:
            raise TooManyDefaults(f"the object would get more than {MOST_MADE} bytes of defaults; send fewer items")
        self.values -= values
        if self.values < 0:
            self._measure()

    def _measure(self) -> None:
        """Raises TooManyDefaults if the object without its defaults is too short for so many of them."""
        most = most_defaults(len(dumps(self._obj)) - (MOST_MADE - self.bytes))
        self.values += most - self._most
        self._most = most
        if self.values < 0:
            raise TooManyDefaults(f"defaults may add {most} values to an object of this size; send fewer items")


Defaulter = Callable[[Any, _Left], None]


def apply_structural_defaults(type_: Type, obj: Any) -> None:
    """Prunes nulls and sets defaults in an object, in place. Raises TooManyDefaults."""
    prune_nulls(type_, obj)
    default_applied(type_, obj)


def default_applied(type_: Type, obj: Any) -> None:
    """Sets defaults, in place, in an object that server-side apply has merged. Raises TooManyDefaults.

    Nulls without a default stay, so that validation refuses them.
    """
    rule = _defaulter(type_)
    if rule is not None:
        rule(obj, _Left(obj))


def default_stored(type_: Type, obj: Any) -> None:
    """As `apply_structural_defaults`, for an object that is stored: a definition may get defaults after its objects.

    Such an object gets any number of values. Raises TooManyDefaults for their bytes.
    """
    prune_nulls(type_, obj)
    rule = _defaulter(type_)
    if rule is not None:
        rule(obj, _Left(obj, sys.maxsize))


def prune_nulls(type_: Type, obj: Any) -> None:
    """Prunes nulls, in place, and sets no defaults."""
    rule = _null_pruner(type_)
    if rule is not None:
        rule(obj)


def _drops_null(type_: Type) -> bool:
    return type_.structural and not type_.nullable and type_.default is None


@compiled
def _null_pruner(type_: Type) -> Rule | None:
    """The rule that deletes nulls of fields that are not nullable and have no default; None if no value needs it."""
    if not type_.structural:
        return None
    if type_.kind is TypeKind.LIST:
        return _each(_null_pruner(type_.elem)) if type_.elem is not None else None
    if type_.kind is not TypeKind.STRUCT:
        return None
    fields = type_.fields
    dropped = {name for name, field in fields.items() if _drops_null(field.type)}
    rules = {name: rule for name, field in fields.items() if (rule := _null_pruner(field.type)) is not None}
    other_dropped, other_rule = False, None
    if type_.elem is not None:
        other_dropped, other_rule = _drops_null(type_.elem), _null_pruner(type_.elem)

    def prune(value: Any) -> None:
        if not isinstance(value, dict):
            return
        if None in value.values():
            absent = [name for name, member in value.items() if member is None]
            for name in absent:
                if name in dropped or (other_dropped and name not in fields):
                    del value[name]
        for name, rule in rules.items():
            if value.get(name) is not None:
                rule(value[name])
        if other_rule is not None:
            for name, member in value.items():
                if member is not None and name not in fields:
                    other_rule(member)

    return prune


@compiled
def _defaulter(type_: Type) -> Defaulter | None:
    """The rule that sets the defaults within a value; None if there are none."""
    if not type_.structural:
        return None
    if type_.kind is TypeKind.LIST:
        return _each_or_default(type_.elem) if type_.elem is not None else None
    if type_.kind is not TypeKind.STRUCT:
        return None
    types = {name: field.type for name, field in type_.fields.items()} | (type_.own or {})
    missing = [
        (name, member.nullable, *_maker(member.default), _values(member.default))
        for name, member in types.items()
        if _defaults(member)
    ]
    rules = {name: rule for name, member in types.items() if (rule := _defaulter(member)) is not None}
    others = None if type_.elem is None else _each_or_default(type_.elem)
    if not missing and not rules and others is None:
        return None

    def default(value: Any, left: _Left) -> None:
        if not isinstance(value, dict):
            return
        for name, nullable, size, make, values in missing:
            if name not in value or (value[name] is None and not nullable):
                left.spend(len(name) + size, values)
                value[name] = make()
        for name, rule in rules.items():
            if name in value:
                rule(value[name], left)
        if others is not None:
            rest = {name: member for name, member in value.items() if name not in types}
            others(rest, left)
            value.update(rest)

    return default


_AROUND = 4  # bytes around the name of a member, and behind its value


def _maker(default: Any) -> tuple[int, Callable[[], Any]]:
    """The bytes of a default as JSON, and a function that copies it."""
    text = dumps(default)
    size = len(text) + _AROUND
    if not isinstance(default, dict | list):
        return size, lambda: default
    if dumps(loads(text)) != text:  # it has integers that the JSON parser would read as floats
        return size, lambda: deepcopy(default)
    return size, lambda: loads(text)


def _values(default: Any) -> int:
    """The values in a default. An object or a list counts twice: it is copied, and takes most of the memory."""
    if not isinstance(default, dict | list):
        return 1
    return 2 + sum(map(_values, default.values() if isinstance(default, dict) else default))


def _defaults(type_: Type) -> bool:
    return type_.structural and type_.default is not None


def _each(rule: Rule | None) -> Rule | None:
    if rule is None:
        return None

    def apply(value: Any) -> None:
        for item in value if isinstance(value, list) else ():
            rule(item)

    return apply


def _each_or_default(elem: Type) -> Defaulter | None:
    """For the items of a list, or the values of an object."""
    rule = _defaulter(elem)
    size, make = _maker(elem.default) if _defaults(elem) and not elem.nullable else (0, None)
    if rule is None and make is None:
        return None
    values = _values(elem.default)

    def apply(value: Any, left: _Left) -> None:
        if isinstance(value, dict):
            places: Any = list(value)
        else:
            places = range(len(value)) if isinstance(value, list) else ()
        for place in places:
            if value[place] is None and make is not None:
                left.spend(size, values)
                value[place] = make()
            if rule is not None:
                rule(value[place], left)

    return apply
