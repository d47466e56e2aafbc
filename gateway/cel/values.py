"""The CEL values for which Python has no type, and the errors of evaluation (cel-spec, "Values").

int, float, str, bool, None, bytes, list and dict stand for the CEL values of the same kind.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from gateway.cel.types import CelType

INT_MIN, INT_MAX, UINT_MAX = -(1 << 63), (1 << 63) - 1, (1 << 64) - 1
NANOS = 1_000_000_000
# seconds since 1970: the years 1 to 9999
EARLIEST, LATEST = -62135596800, 253402300799

Json = Any


class EvaluationError(Exception):
    """An evaluation failed. `str()` is cel-go's message."""


class CostExceeded(Exception):
    """An evaluation cost more than its limit."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")


def no_overload(function: str = "") -> EvaluationError:
    """The error of a call for whose argument types the function has no overload."""
    return EvaluationError(f"no such overload: {function}" if function else "no such overload")


class Uint(int):
    """An unsigned integer."""

    __slots__ = ()


@dataclass(slots=True, frozen=True, order=True)
class Timestamp:
    """A moment in nanoseconds since 1970, and the UTC offset in seconds with which it was written."""

    nanos: int
    offset: int = field(default=0, compare=False)  # seconds

    def __eq__(self, other: object) -> bool:
        return type(other) is Timestamp and self.nanos == other.nanos

    def __hash__(self) -> int:
        return hash(self.nanos)


@dataclass(slots=True, frozen=True, order=True)
class Duration:
    """A length of time in nanoseconds."""

    nanos: int


@dataclass(slots=True, frozen=True, eq=False)
class Optional:
    """A value that may be absent; `gateway.cel.equality.equal` compares two."""

    value: Any = None
    present: bool = True


NONE = Optional(present=False)


@dataclass(slots=True, frozen=True)
class TypeValue:
    """The value that stands for a type."""

    name: str


class SetList(list[Any]):
    """A list whose order means nothing (x-kubernetes-list-type: set). See `Edition.strict_sets`."""

    __slots__ = ("strict",)

    def __init__(self, items: Iterable[Any], strict: bool = False) -> None:
        super().__init__(items)
        self.strict = strict


class KeyedList(list[Any]):
    """A list of objects with unique values of `keys` (x-kubernetes-list-type: map)."""

    __slots__ = ("keys", "strict")

    def __init__(self, items: list[Any], keys: tuple[str, ...], strict: bool = False) -> None:
        super().__init__(items)
        self.keys, self.strict = keys, strict


class StringList(list[str]):
    """A list of strings that a function returned. In Go it is a []string, not a list of CEL values."""

    __slots__ = ()


class ConcatenatedList(list[Any]):
    """The result of `+` for two lists that are not empty."""

    __slots__ = ()


LISTS = (list, SetList, KeyedList, StringList, ConcatenatedList, tuple)
"""The Python types of lists."""

_NAMES: dict[type, str] = {
    bool: "bool",
    int: "int",
    Uint: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    type(None): "null_type",
    **dict.fromkeys(LISTS, "list"),
    dict: "map",
    Timestamp: "google.protobuf.Timestamp",
    Duration: "google.protobuf.Duration",
    Optional: "optional_type",
    TypeValue: "type",
}


def register(kind: type, name: str) -> None:
    """Registers `name` as the CEL type of the values of a Python class."""
    _NAMES[kind] = name


def type_name(value: Any) -> str:
    """The name of a value's type at run time."""
    return _NAMES.get(type(value), "unknown")


def type_value(declared: CelType) -> TypeValue:
    """The value that stands for a declared type."""
    return TypeValue(declared.name)


def in_int_range(number: int) -> int:
    """The number, if it fits 64 bits; raises EvaluationError."""
    if INT_MIN <= number <= INT_MAX:
        return number
    raise EvaluationError("integer overflow")


def in_uint_range(number: int) -> Uint:
    """The number, if it fits 64 bits without a sign; raises EvaluationError."""
    if 0 <= number <= UINT_MAX:
        return Uint(number)
    raise EvaluationError("unsigned integer overflow")
