"""Finds values in an apply configuration that are not JSON: null, unsigned integers, bytes, times, quantities, and
lists and maps that are still CEL values. They are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from gateway.admission.policies.keyed_maps import Unfit
from gateway.apply.path_element import shown
from gateway.apply.shapes import Shape, element_of, is_open, item_key, member_of, shape_of
from gateway.cel.moments import format_duration
from gateway.cel.values import NANOS, Duration, Timestamp, Uint
from gateway.schema.quantity import Quantity
from gateway.schema.types import Type, TypeKind

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NUMBERS, _TEXTS = (TypeKind.INT32, TypeKind.INT64, TypeKind.FLOAT), (TypeKind.STRING, TypeKind.BYTES)
_WANTED = {
    TypeKind.STRUCT: "map",
    TypeKind.MAP: "map",
    TypeKind.ANY: "map",
    TypeKind.LIST: "list",
    TypeKind.BOOL: "boolean",
}
_SCALARS = (TypeKind.TIME, TypeKind.MICROTIME, TypeKind.DURATION, TypeKind.QUANTITY)

_NO_SCALARS = (bytes, Unfit, Timestamp, Quantity)

_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


def _time(value: Timestamp) -> str:
    """A moment as Go prints it."""
    at, fraction = _utc(value), value.nanos % NANOS
    behind = f"{fraction / NANOS:.9f}"[1:].rstrip("0") if fraction else ""
    return f"{at:%Y-%m-%d %H:%M:%S}{behind} +0000 UTC"


def _time_written(value: Timestamp) -> str:
    at = _utc(value)
    clock = f"{at.hour}, {at.minute}, {at.second}, {value.nanos % NANOS}"
    return f"time.Date({at.year}, time.{_MONTHS[at.month - 1]}, {at.day}, {clock}, time.UTC)"


def _utc(value: Timestamp) -> datetime:
    return _EPOCH + timedelta(seconds=value.nanos // NANOS)


# by their types: Go's name, how Go prints a value, and how it is written in Go's syntax
_Shown = tuple[str, Callable[[Any], str], Callable[[Any], str]]
_FOREIGN: dict[type, _Shown] = {
    Uint: ("uint64", lambda value: str(int(value)), lambda value: hex(value)),
    bytes: (
        "[]uint8",
        lambda value: f"[{' '.join(map(str, value))}]",
        lambda value: f"[]uint8{{{', '.join(map(hex, value))}}}",
    ),
    Duration: ("time.Duration", format_duration, lambda value: str(value.nanos)),
    Unfit: ("", lambda value: value.printed, lambda value: value.written),
    Timestamp: ("time.Time", _time, _time_written),
    Quantity: ("*resource.Quantity", str, lambda value: "(*resource.Quantity)(0xc000000000)"),
}


def foreign_problems(value: Any, type_: Type, path: str = "") -> Iterator[str]:
    """Yields a message for each such value in the value of an expression. `nonconformity` checks all other types."""
    if (foreign := _FOREIGN.get(type(value))) is not None:
        kind = TypeKind.ANY if type_.kind is TypeKind.INT_OR_STRING else type_.kind
        if problem := _problem(value, kind, *foreign):
            yield f"{path}: {problem}"
    elif isinstance(value, dict) and (type_.kind in (TypeKind.STRUCT, TypeKind.MAP) or shape_of(type_) is Shape.FREE):
        for name, each in value.items():
            if type_.kind is TypeKind.STRUCT and name not in type_.fields and not is_open(type_):
                continue  # `nonconformity` reports unknown fields
            member = element_of(type_) if type_.kind is TypeKind.MAP else member_of(type_, name)
            yield from foreign_problems(each, member, f"{path}.{name}")
    elif isinstance(value, list) and shape_of(type_) is Shape.FREE:
        for at, each in enumerate(value):
            yield from foreign_problems(each, type_, f"{path}[{at}]")
    elif isinstance(value, list) and type_.kind is TypeKind.LIST:
        keyed = item_key(type_) if shape_of(type_) is not Shape.LEAF else None
        for at, each in enumerate(value):
            if type(each) in _FOREIGN and keyed is not None and type_.list_type == "map":
                yield f"{path}: element {at}: associative list with keys may not have non-map elements"
                return
            yield from foreign_problems(each, element_of(type_), path + _step(each, at, keyed))


def _step(item: Any, at: int, keyed: Callable[[Any], str] | None) -> str:
    if keyed is not None and type(item) in _FOREIGN:
        return "[={{undefined}}]"  # an item of a set
    try:
        return f"[{at}]" if keyed is None else shown(keyed(item))
    except ValueError:
        return f"[{at}]"


def _problem(value: Any, kind: TypeKind, name: str, print_: Callable[[Any], str], write: Callable[[Any], str]) -> str:
    if kind in _TEXTS:
        return f"expected string, got &value.valueUnstructured{{Value:{write(value)}}}"
    if kind in _NUMBERS:
        return f"expected numeric (int or float), got {value.type if type(value) is Unfit else name}"
    if kind in _SCALARS:
        return f"expected any scalar, got &{{{print_(value)}}}" if type(value) in _NO_SCALARS else ""
    wanted = _WANTED.get(kind, "map" if type(value) is Unfit else None)
    return f"expected {wanted}, got &{{{print_(value)}}}" if wanted else ""
