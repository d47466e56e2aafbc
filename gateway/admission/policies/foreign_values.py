"""Values in a configuration that are not JSON's own: null, unsigned integers, bytes, times. They are refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from gateway.apply.path_element import shown
from gateway.apply.shapes import Shape, element_of, item_key, member_of, shape_of
from gateway.cel.moments import format_duration
from gateway.cel.values import Duration, Uint
from gateway.schema.types import Kind, Type

_NUMBERS, _TEXTS = (Kind.INT32, Kind.INT64, Kind.FLOAT), (Kind.STRING, Kind.BYTES)
_WANTED = {Kind.STRUCT: "map", Kind.MAP: "map", Kind.LIST: "list", Kind.BOOL: "boolean"}
_SCALARS = (Kind.TIME, Kind.MICROTIME, Kind.DURATION, Kind.QUANTITY)

# by their types: Go's name, how Go prints a value, and how it is written in Go's syntax
_Shown = tuple[str, Callable[[Any], str], Callable[[Any], str]]
_FOREIGN: dict[type, _Shown] = {
    type(None): ("structpb.NullValue", lambda value: "NULL_VALUE", lambda value: "0"),
    Uint: ("uint64", lambda value: str(int(value)), lambda value: hex(value)),
    bytes: (
        "[]uint8",
        lambda value: f"[{' '.join(map(str, value))}]",
        lambda value: f"[]uint8{{{', '.join(map(hex, value))}}}",
    ),
    Duration: ("time.Duration", format_duration, lambda value: str(value.nanos)),
}


def foreign_problems(value: Any, type_: Type, path: str = "") -> Iterator[str]:
    """What is said of each such value in the value of an expression, whose types are otherwise looked at elsewhere."""
    if (foreign := _FOREIGN.get(type(value))) is not None:
        if problem := _problem(value, type_.kind, *foreign):
            yield f"{path}: {problem}"
    elif isinstance(value, dict):
        for name, each in value.items():
            member = element_of(type_) if type_.kind is Kind.MAP else member_of(type_, name)
            yield from foreign_problems(each, member, f"{path}.{name}")
    elif isinstance(value, list) and type_.kind is Kind.LIST:
        keyed = item_key(type_) if shape_of(type_) is not Shape.LEAF else None
        for at, each in enumerate(value):
            if type(each) in _FOREIGN and keyed is not None and type_.list_type == "map":
                yield f"{path}: element {at}: associative list with keys may not have non-map elements"
                return
            yield from foreign_problems(each, element_of(type_), path + _step(each, at, keyed))


def _step(item: Any, at: int, keyed: Callable[[Any], str] | None) -> str:
    try:
        return f"[{at}]" if keyed is None else shown(keyed(item))
    except ValueError:
        return f"[{at}]"


def _problem(value: Any, kind: Kind, name: str, print_: Callable[[Any], str], write: Callable[[Any], str]) -> str:
    if kind in _TEXTS:
        return f"expected string, got &value.valueUnstructured{{Value:{write(value)}}}"
    if kind in _NUMBERS:
        return f"expected numeric (int or float), got {name}"
    if kind in _SCALARS:
        return f"expected any scalar, got &{{{print_(value)}}}" if value is None or type(value) is bytes else ""
    wanted = _WANTED.get(kind)
    return f"expected {wanted}, got &{{{print_(value)}}}" if wanted else ""
