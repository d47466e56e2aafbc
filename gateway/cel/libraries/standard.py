"""Operators and functions of the language itself (cel-spec, "List of Standard Definitions")."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from gateway.cel.equality import compare, equal, key_of, member, union
from gateway.cel.moments import between, valid_duration, valid_timestamp
from gateway.cel.values import (
    INT_MAX,
    INT_MIN,
    LISTS,
    ConcatenatedList,
    Duration,
    EvaluationError,
    KeyedList,
    SetList,
    Timestamp,
    TypeValue,
    Uint,
    in_int_range,
    in_uint_range,
    no_overload,
    type_name,
)

# types whose values get the call in cel-go and refuse it themselves: the error does not name the operator
_RECEIVERS = (str, Timestamp, Duration)


def _refused(name: str, value: Any, *able: type) -> EvaluationError:
    """The error of an operator whose first argument is `value`. `able` are the types that have the operator."""
    return no_overload("" if type(value) in (*able, *_RECEIVERS) else name)


def add(one: Any, other: Any) -> Any:
    """`+` of any two values; raises EvaluationError."""
    kind = type(one)
    if kind in LISTS:
        if type(other) not in LISTS:
            raise no_overload()
        return add_lists(one, other)
    if kind is type(other):
        match one:
            case Uint():
                return in_uint_range(int(one) + int(other))
            case bool():
                raise no_overload("_+_")
            case int():
                return in_int_range(one + other)
            case float() | str() | bytes():
                return one + other
            case Duration():
                return valid_duration(one.nanos + other.nanos)
    if kind is Timestamp and type(other) is Duration:
        return valid_timestamp(one.nanos + other.nanos, one.offset)
    if kind is Duration and type(other) is Timestamp:
        return valid_timestamp(one.nanos + other.nanos, other.offset)
    raise _refused("_+_", one, int, Uint, float, bytes)


def add_lists(one: Any, other: Any) -> Any:
    """`+` of two lists: concatenates them. A set or keyed list on the left is merged by item or by key."""
    if type(one) is SetList:
        return SetList(union(one, other), one.strict)
    if type(one) is KeyedList:
        return _merged(one, other)
    if not (one and other):
        return one or other
    return ConcatenatedList([*one, *other])


def _merged(one: KeyedList, other: Any) -> KeyedList:
    """The items of `one`, each replaced by the last item of `other` with the same key; then the other items of `other`.

    Duplicates within a list stay. If `one` has a key twice, its last item is replaced.
    """
    items = list(one)
    places = {key_of(each, one.keys): place for place, each in enumerate(one)}
    for each in other:
        place = places.get(key_of(each, one.keys))
        if place is None:
            items.append(each)
        else:
            items[place] = each
    return KeyedList(items, one.keys, one.strict)


def subtract(one: Any, other: Any) -> Any:
    """`-` of any two values; raises EvaluationError."""
    kind = type(one)
    if kind is type(other):
        match one:
            case Uint():
                return in_uint_range(int(one) - int(other))
            case bool():
                raise no_overload("_-_")
            case int():
                return in_int_range(one - other)
            case float():
                return one - other
            case Duration():
                return valid_duration(one.nanos - other.nanos)
            case Timestamp():
                return between(one, other)
    if kind is Timestamp and type(other) is Duration:
        return valid_timestamp(one.nanos - other.nanos, one.offset)
    raise _refused("_-_", one, int, Uint, float)


def _numbers(name: str, one: Any, other: Any) -> type:
    kind = type(one)
    if kind not in (int, Uint, float) or kind is not type(other):
        raise _refused(name, one, int, Uint, float)
    return kind


def multiply(one: Any, other: Any) -> Any:
    """`*` of any two values; raises EvaluationError."""
    kind = _numbers("_*_", one, other)
    if kind is float:
        return one * other
    return in_int_range(one * other) if kind is int else in_uint_range(int(one) * int(other))


def divide(one: Any, other: Any) -> Any:
    """`/` of any two values; raises EvaluationError."""
    kind = _numbers("_/_", one, other)
    if kind is float:
        return _divide_doubles(one, other)
    if not other:
        raise EvaluationError("division by zero")
    if kind is Uint:
        return Uint(int(one) // int(other))
    if one == INT_MIN and other == -1:
        raise EvaluationError("integer overflow")
    size = abs(one) // abs(other)
    return size if (one < 0) is (other < 0) else -size


def _divide_doubles(one: float, other: float) -> float:
    if other:
        return one / other
    if not one or one != one or other != other:
        return math.nan
    return math.copysign(math.inf, one) * math.copysign(1, other)


def modulo(one: Any, other: Any) -> Any:
    """`%` of any two values; raises EvaluationError."""
    kind = type(one)
    if kind not in (int, Uint) or kind is not type(other):
        raise _refused("_%_", one, int, Uint)
    if not other:
        raise EvaluationError("modulus by zero")
    if kind is Uint:
        return Uint(int(one) % int(other))
    if one == INT_MIN and other == -1:
        raise EvaluationError("integer overflow")
    rest = abs(one) % abs(other)
    return -rest if one < 0 else rest


def negate(value: Any) -> Any:
    """`-` before a value; raises EvaluationError."""
    if type(value) is int:
        return in_int_range(-value)
    if type(value) is float:
        return -value
    if type(value) is bool:
        return not value
    if type(value) is Duration:
        return valid_duration(-value.nanos)
    raise _refused("-_", value)


def logical_not(value: Any) -> bool:
    """`!`; raises EvaluationError."""
    if type(value) is bool:
        return not value
    raise no_overload()


def contained(value: Any, within: Any) -> bool:
    """`in`; raises EvaluationError."""
    kind = type(within)
    if kind in LISTS:
        return member(value, within)
    if kind is dict:
        return is_key(value) and key(value) in within
    raise no_overload()


def is_key(value: Any) -> bool:
    """Whether the value is of a type that map keys may have."""
    return type(value) in (str, int, Uint, bool, float)


def key(value: Any) -> Any:
    """The Python key of a CEL map key: the value itself."""
    return value


def size(value: Any) -> int:
    """`size`; raises EvaluationError."""
    if isinstance(value, str | bytes | list | dict | tuple):
        return len(value)
    raise no_overload("size")


def _text_call(function: Callable[[str, str], bool]) -> Callable[[Any, Any], bool]:
    def call(text: Any, part: Any) -> bool:
        if type(text) is not str or type(part) is not str:
            raise no_overload()
        return function(text, part)

    return call


contains = _text_call(lambda text, part: part in text)
starts_with = _text_call(str.startswith)
ends_with = _text_call(str.endswith)


def insert(into: dict[Any, Any], name: Any, value: Any) -> dict[Any, Any]:
    """A copy of a map with one more entry. Raises EvaluationError if the map has the key already."""
    if name in into:
        raise EvaluationError(f"insert failed: key {name} already exists")
    return {**into, name: value}


def _int_arithmetic(operation: Callable[[int, int], int]) -> Callable[[int, int], int]:
    def call(one: int, other: int) -> int:
        result = operation(one, other)
        if INT_MIN <= result <= INT_MAX:
            return result
        raise EvaluationError("integer overflow")

    return call


def _ordered(name: str, test: Callable[[int], bool]) -> Callable[[Any, Any], bool]:
    def call(one: Any, other: Any) -> bool:
        if type(one) not in _WITH_ORDER:
            raise no_overload(name)
        return test(compare(one, other))

    return call


_WITH_ORDER = (int, Uint, float, bool, str, bytes, Timestamp, Duration)


# operators by function: they accept arguments of any type, and check the types themselves
DYNAMIC: dict[str, Callable[..., Any]] = {
    "_+_": add,
    "_-_": subtract,
    "_*_": multiply,
    "_/_": divide,
    "_%_": modulo,
    "-_": negate,
    "!_": logical_not,
    "_<_": _ordered("_<_", lambda order: order < 0),
    "_<=_": _ordered("_<=_", lambda order: order <= 0),
    "_>_": _ordered("_>_", lambda order: order > 0),
    "_>=_": _ordered("_>=_", lambda order: order >= 0),
    "_==_": equal,
    "_!=_": lambda one, other: not equal(one, other),
    "@in": contained,
    "size": size,
    "contains": contains,
    "startsWith": starts_with,
    "endsWith": ends_with,
}
OVERLOADS: dict[str, Callable[..., Any]] = {
    "type": lambda value: TypeValue(type_name(value)),
    "contains_string": contains,
    "starts_with_string": starts_with,
    "ends_with_string": ends_with,
    "@mapInsert_map_key_value": insert,
    "size_bytes": len,
    "bytes_size": len,
    "size_list": len,
    "list_size": len,
    "size_map": len,
    "map_size": len,
    "size_string": len,
    "string_size": len,
    "add_int64": _int_arithmetic(lambda one, other: one + other),
    "subtract_int64": _int_arithmetic(lambda one, other: one - other),
    "multiply_int64": _int_arithmetic(lambda one, other: one * other),
    "add_list": add_lists,
}
