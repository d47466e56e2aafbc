"""Nulls in a configuration that an expression made: kube-apiserver takes none, whatever field it is for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gateway.apply.path_element import shown
from gateway.apply.shapes import Shape, element_of, item_key, member_of, shape_of
from gateway.schema.types import Kind, Type

_WANTED = {
    Kind.STRUCT: "map",
    Kind.MAP: "map",
    Kind.LIST: "list",
    Kind.BOOL: "boolean",
    Kind.TIME: "any scalar",
    Kind.MICROTIME: "any scalar",
    Kind.DURATION: "any scalar",
    Kind.QUANTITY: "any scalar",
}


def null_problems(value: Any, type_: Type, path: str = "") -> Iterator[str]:
    """What is said of each null in a value that conforms to a type apart from them."""
    if value is None:
        if (problem := _of_null(type_)) is not None:
            yield f"{path}: {problem}"
    elif isinstance(value, dict):
        for name, each in value.items():
            member = element_of(type_) if type_.kind is Kind.MAP else member_of(type_, name)
            yield from null_problems(each, member, f"{path}.{name}")
    elif isinstance(value, list) and type_.kind is Kind.LIST:
        keyed = item_key(type_) if shape_of(type_) is not Shape.LEAF else None
        for at, each in enumerate(value):
            if each is None and keyed is not None:
                yield f"{path}: element {at}: associative list with keys may not have non-map elements"
                return
            step = f"[{at}]" if keyed is None else shown(keyed(each))
            yield from null_problems(each, element_of(type_), path + step)


def _of_null(type_: Type) -> str | None:
    if (wanted := _WANTED.get(type_.kind)) is not None:
        return f"expected {wanted}, got &{{NULL_VALUE}}"
    if type_.kind in (Kind.STRING, Kind.BYTES):
        return "expected string, got &value.valueUnstructured{Value:0}"
    if type_.kind in (Kind.INT32, Kind.INT64, Kind.FLOAT):
        return "expected numeric (int or float), got structpb.NullValue"
    return None
