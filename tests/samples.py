"""Objects of every built-in kind, made from the catalog: canonical JSON, which Go reads and writes unchanged.

`full` sets every field, `zero` sets each pointer field to an empty value, `bare` sets nothing. They are the same in
every run: comparisons with recordings hold until the catalog changes.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from itertools import count
from typing import Any

from gateway.jsontypes import JsonObject
from gateway.schema.catalog import document, type_for
from gateway.schema.decode import DecodeReport, decode
from gateway.schema.decode import zero as zero_of
from gateway.schema.types import Field, Omit, Type, TypeKind

_DEPTH = 3  # how deep a type may be nested in itself
_UNWRITTEN = {"Table", "WatchEvent"}  # the first has no protobuf form, the second is not an object


def kinds() -> list[tuple[str, str, str]]:
    """Group, version and kind of all objects that protobuf can encode."""
    parts = (written.split("/") for written in document()["kinds"])
    found = [(group, version, kind) for group, version, kind in parts if kind not in _UNWRITTEN]
    return [gvk for gvk in found if has_numbers(type_for(*gvk))]


def has_numbers(type_: Type) -> bool:
    return all(each.number or each.embedded[-1:] == ("TypeMeta",) for each in type_.fields.values())


def samples(group: str, version: str, kind: str) -> Iterator[tuple[str, JsonObject]]:
    """The objects of a kind, with their names."""
    type_ = type_for(group, version, kind)
    named = {"kind": kind, "apiVersion": f"{group}/{version}" if group else version}
    for name, value in (
        ("full", _full(type_, count(1), ())),
        ("zero", _empty(type_, ())),
        ("bare", {}),
    ):
        yield name, {**named, **decode(type_, value | named, DecodeReport())}


def _full(type_: Type, numbers: count[int], outer: tuple[str, ...]) -> Any:
    n = next(numbers)
    match type_.kind:
        case TypeKind.STRUCT:
            inner = (*outer, type_.name)
            fields = [each for each in type_.fields.values() if _fits(each.type, inner) and not _type_meta(each)]
            return {each.name: _full_field(each, numbers, inner) for each in fields}
        case TypeKind.LIST if type_.elem is not None:
            return [_full(type_.elem, numbers, outer) for _ in range(1 + n % 2)]
        case TypeKind.MAP if type_.elem is not None:
            return {f"{key}{n}": _full(type_.elem, numbers, outer) for key in ("b", "a.é/\U0001f600")}
        case TypeKind.ANY if type_.elem is not None:
            return _union(type_, numbers, outer)
        case kind:
            return _scalar(kind, n)


def _full_field(each: Field, numbers: count[int], outer: tuple[str, ...]) -> Any:
    return _full(each.type, numbers, outer)


def _type_meta(each: Field) -> bool:
    return each.embedded[-1:] == ("TypeMeta",)


def _fits(type_: Type, outer: tuple[str, ...]) -> bool:
    """Whether the type is not nested too deep in itself."""
    while type_.elem is not None:
        type_ = type_.elem
    return outer.count(type_.name) < _DEPTH - 1


def _union(type_: Type, numbers: count[int], outer: tuple[str, ...]) -> Any:
    assert type_.elem is not None
    schema = _full(type_.elem, numbers, outer)
    if next(numbers) % 2:
        return schema
    if type_.name.endswith("OrBool"):
        return True
    return ["one", "two"] if type_.name.endswith("OrStringArray") else [schema, {"type": "object"}]


def _scalar(kind: TypeKind, n: int) -> Any:
    moment = f"{1900 + n % 200}-0{1 + n % 9}-{10 + n % 18}T{10 + n % 14}:{10 + n % 50}:{10 + n % 49}"
    made: dict[TypeKind, Any] = {
        TypeKind.STRING: f"text-{n}" if n % 5 else f"é\U0001f600<&>{n}" * (n % 40),
        TypeKind.INT32: n * 977 if n % 3 else -n,
        TypeKind.INT64: n * 97_700_000_000 if n % 3 else -n,
        TypeKind.FLOAT: n + 0.5,
        TypeKind.BOOL: True,
        TypeKind.BYTES: b64encode(bytes(range(n % 50 + 1))).decode(),
        TypeKind.QUANTITY: f"{n * 10 + 1}m" if n % 2 else f"{n * 2 + 1}Ki",
        TypeKind.TIME: moment + "Z",
        TypeKind.MICROTIME: f"{moment}.{n:06d}Z",
        TypeKind.INT_OR_STRING: n if n % 2 else f"{n}%",
        TypeKind.ANY: {"b": [n, "x", None], "a": {"deep": {}}},
    }
    return made[kind]


def _empty(type_: Type, outer: tuple[str, ...]) -> Any:
    if type_.kind is not TypeKind.STRUCT:
        return zero_of(type_)
    inner = (*outer, type_.name)
    found: JsonObject = {}
    for each in type_.fields.values():
        kind = each.type.kind
        if _type_meta(each) or not _fits(each.type, inner):
            continue
        if kind is TypeKind.STRUCT:
            found[each.name] = _empty(each.type, inner)
        elif kind is TypeKind.LIST and each.type.elem is not None and each.omit is Omit.EMPTY:
            found[each.name] = [_empty(each.type.elem, inner)]
        elif each.pointer and kind not in (TypeKind.ANY, TypeKind.TIME, TypeKind.MICROTIME):
            found[each.name] = zero_of(each.type)
    return found
