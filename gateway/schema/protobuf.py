"""Reads Kubernetes' protobuf encoding by schema into JSON form (API Concepts, "Protobuf encoding").

The result is JSON as a client could have sent it. It may have empty values that Go's JSON leaves out; `decode` removes
them. Field numbers are the catalog's. Each type gets a table of readers on first use.
"""

from __future__ import annotations

import struct
import sys
import threading
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple

from gateway.jsontypes import MOST_COLLECTIONS, MOST_NAMES, JsonObject
from gateway.schema.catalog import type_of
from gateway.schema.outside import read_json, read_trusted
from gateway.schema.protobuf_wire import BYTES, FIXED64, VARINT, ProtobufError, varints, wire_fields
from gateway.schema.types import Field, Type, TypeKind, compiled

MAGIC = b"k8s\0"

ITEMS_IN_MESSAGE = frozenset({"v1.Verbs"})  # named list types: a field has one message with all items

_EPOCH = datetime(1970, 1, 1)
_CYCLE = 146097 * 86400  # 400 years
_YEAR_0, _ZERO_TIME, _YEAR_10000 = 62167219200, -62135596800, 253402300800


class _Bounds(threading.local):
    """What the message that this thread reads may still have: an empty item takes two bytes, and becomes an object."""

    trusted = False
    items = 0


_bounds = _Bounds()


def _take() -> None:
    """Counts an item of a list, or an entry of a map, before it is read. Raises ProtobufError."""
    _bounds.items = left = _bounds.items - 1
    if left < 0:
        raise ProtobufError(f"proto: more than {MOST_COLLECTIONS} items of lists and maps; send fewer")


Read = Callable[[Any], Any]  # takes a wire value (int for varints, else bytes), returns the JSON value


class _Message(NamedTuple):
    """A message without a struct in the catalog: the wire type and the Go name of each field, by number."""

    name: str
    fields: dict[int, tuple[int, str]]


_UNKNOWN = _Message("Unknown", {1: (BYTES, "TypeMeta"), 2: (BYTES, "Raw")})
_TYPE_META = _Message("TypeMeta", {1: (BYTES, "APIVersion"), 2: (BYTES, "Kind")})
_LIST_META = _Message("ListMeta", {2: (BYTES, "ResourceVersion"), 3: (BYTES, "Continue")})
_TIMESTAMP = _Message("Timestamp", {1: (VARINT, "Seconds"), 2: (VARINT, "Nanos")})
_QUANTITY = _Message("Quantity", {1: (BYTES, "String_")})
_INT_OR_STRING = _Message("IntOrString", {1: (VARINT, "Type"), 2: (VARINT, "IntVal"), 3: (BYTES, "StrVal")})
_RAW = _Message("RawExtension", {1: (BYTES, "Raw")})


class Envelope(NamedTuple):
    """The content of `runtime.Unknown`: an object's apiVersion and kind (maybe empty), and the bytes of its message."""

    api_version: str
    kind: str
    raw: bytes


def read_envelope(data: bytes) -> Envelope:
    """Reads the `runtime.Unknown` that follows the magic number. Raises ProtobufError."""
    if not data:
        raise ProtobufError("empty data")
    if not data.startswith(MAGIC):
        expected = " ".join(map(str, MAGIC))
        raise ProtobufError(f"provided data does not appear to be a protobuf message, expected prefix [{expected}]")
    if len(data) == len(MAGIC):
        raise ProtobufError("empty body")
    parts = _last_values(data[len(MAGIC) :], _UNKNOWN)
    meta = _last_values(parts.get(1, b""), _TYPE_META)
    return Envelope(_text(meta.get(1, b"")), _text(meta.get(2, b"")), parts.get(2, b""))


def read_message(type_: Type, data: bytes, *, trusted: bool = False) -> JsonObject:
    """The JSON form of a message of a struct type. Skips unknown fields, as Go does.

    Raises ProtobufError, also for more than MOST_COLLECTIONS items of lists and maps, or MOST_NAMES entries of one map.
    `trusted` messages have no such bounds: an API server has written them, and etcd bounds their bytes.
    """
    _bounds.items, _bounds.trusted = sys.maxsize if trusted else MOST_COLLECTIONS, trusted
    return _message(type_, data)


def _message(type_: Type, data: bytes) -> JsonObject:
    out: JsonObject = {}
    _fill(_table_of(type_), data, out)
    return out


def read_list(type_: Type, data: bytes) -> JsonObject:
    """The JSON form of a list's message, whose items are of `type_`. Raises ProtobufError."""
    out: JsonObject = {"metadata": {}, "items": []}
    for number, wire, value in wire_fields(data, "List"):
        if (number, wire) == (1, BYTES):
            meta = _last_values(value, _LIST_META)
            out["metadata"] = {
                name: _text(meta[at]) for at, name in ((2, "resourceVersion"), (3, "continue")) if at in meta
            }
        elif (number, wire) == (2, BYTES):
            out["items"].append(read_message(type_, value))
    return out


@dataclass(slots=True)
class _Table:
    """The readers of a message's fields, by number. Fields of embedded structs go into the same JSON object."""

    name: str = ""  # of the message, for errors
    fields: dict[int, _Reader] = field(default_factory=dict)
    embedded: dict[int, _Table] = field(default_factory=dict)


class _Reader(NamedTuple):
    name: str
    go_name: str
    wire: int
    read: Read
    repeated: bool = False  # a list: each value is one item
    packed: bool = False  # a list of numbers: a value may hold several
    entries: bool = False  # a map: each value is an entry


@compiled
def _table_of(type_: Type) -> _Table:
    table = _Table(type_.name.rpartition(".")[2])
    for each in type_.fields.values():
        if each.number and not _is_type_meta(each):
            target = table
            for number in each.embedded_numbers:
                if number:
                    target = target.embedded.setdefault(number, _Table(table.name))
            target.fields[each.number] = _reader(each)
    return table


def _is_type_meta(each: Field) -> bool:
    return each.embedded[-1:] == ("TypeMeta",)


def _reader(each: Field) -> _Reader:
    type_, names = each.type, (each.name, each.go_name)
    elem = type_.elem
    if type_.kind is TypeKind.LIST and elem is not None and type_.name not in ITEMS_IN_MESSAGE:
        packed = elem.kind in _VARINT_KINDS
        return _Reader(*names, _wire_of(elem), _value_reader(elem), repeated=True, packed=packed)
    if type_.kind is TypeKind.MAP and elem is not None:
        return _Reader(*names, BYTES, partial(_entry, _value_reader(elem), _wire_of(elem)), entries=True)
    return _Reader(*names, _wire_of(type_), _value_reader(type_))


def _wire_of(type_: Type) -> int:
    """The protobuf wire type of a value of this type."""
    if type_.kind in _VARINT_KINDS:
        return VARINT
    return FIXED64 if type_.kind is TypeKind.FLOAT else BYTES


def _value_reader(type_: Type) -> Read:
    if type_.kind is TypeKind.STRUCT:
        return partial(_message, type_)
    if type_.kind is TypeKind.LIST and type_.elem is not None:  # a list in a list or a map is a message of its items
        return partial(_items, _value_reader(type_.elem), _wire_of(type_.elem))
    if type_.kind is TypeKind.ANY and type_.name in _SCHEMA_OR:
        return partial(_schema_or, _SCHEMA_OR[type_.name])
    if type_.name == "v1.FieldsV1":
        return _owned_fields
    return _READERS.get(type_.kind, _unreadable)


def _fill(table: _Table, data: bytes, out: JsonObject) -> None:
    for number, wire, value in wire_fields(data, table.name):
        reader = table.fields.get(number)
        if reader is None:
            embedded = table.embedded.get(number)
            if embedded is not None and wire == BYTES:
                _fill(embedded, value, out)
        elif reader.packed and wire == BYTES:
            out.setdefault(reader.name, []).extend(map(reader.read, _counted(value)))
        elif wire != reader.wire:
            raise _wrong_wire(wire, reader.go_name)
        elif reader.repeated:
            _take()
            out.setdefault(reader.name, []).append(reader.read(value))
        elif reader.entries:
            _take()
            key, item = reader.read(value)
            entries = out.setdefault(reader.name, {})
            entries[key] = item
            if len(entries) > MOST_NAMES and not _bounds.trusted:
                raise ProtobufError(f"proto: more than {MOST_NAMES} entries of one map; send fewer")
        else:
            out[reader.name] = reader.read(value)


def _counted(data: bytes) -> Iterator[int]:
    for value in varints(data):
        _take()
        yield value


def _wrong_wire(wire: int, go_name: str) -> ProtobufError:
    return ProtobufError(f"proto: wrong wireType = {wire} for field {go_name}")


def _last_values(data: bytes, message: _Message) -> dict[int, Any]:
    """The values of a message's fields by number; of a repeated field the last. Raises ProtobufError."""
    found: dict[int, Any] = {}
    for number, wire, value in wire_fields(data, message.name):
        known = message.fields.get(number)
        if known is not None and wire != known[0]:
            raise _wrong_wire(wire, known[1])
        found[number] = value
    return found


def _text(value: Any) -> str:
    return bytes(value).decode("utf-8", "replace")


def _integer(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def _int32(value: int) -> int:
    """The lower 32 bits of a varint, as a signed integer."""
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


def _entry(read: Read, wire: int, data: bytes) -> tuple[str, Any]:
    """The key and value of a map entry. Writers send both always; an absent one is read as its zero value."""
    key, value = b"", 0 if wire == VARINT else b""
    for number, found, part in wire_fields(data):
        if number in (1, 2) and found != (BYTES if number == 1 else wire):
            raise ProtobufError("unexpected EOF")  # Go reads the value as if its wire type were right
        if number == 1:
            key = part
        elif number == 2:
            value = part
    return _text(key), read(value)


def _items(read: Read, wire: int, data: bytes) -> list[Any]:
    items = []
    for _, found, value in wire_fields(data):
        if found != wire:
            raise _wrong_wire(found, "Items")
        _take()
        items.append(read(value))
    return items


def _quantity(data: bytes) -> str:
    return _text(_last_values(data, _QUANTITY).get(1, b"0"))


def _time(data: bytes) -> str | None:
    return _written(_integer(_last_values(data, _TIMESTAMP).get(1, 0)), "") if data else None


def _micro_time(data: bytes) -> str | None:
    if not data:
        return None
    parts = _last_values(data, _TIMESTAMP)
    nanoseconds = _int32(parts.get(2, 0))
    microseconds = nanoseconds // 1000 if nanoseconds >= 0 else -(-nanoseconds // 1000)
    seconds, microseconds = divmod(_integer(parts.get(1, 0)) * 1_000_000 + microseconds, 1_000_000)
    return _written(seconds, f".{microseconds:06d}")


def _written(seconds: int, fraction: str) -> str | None:
    """A Timestamp in RFC 3339; None for Go's zero time. `datetime` lacks year 0, so year 400 stands in for it."""
    if not -_YEAR_0 <= seconds < _YEAR_10000:
        raise ProtobufError("a time is out of range")
    if seconds == _ZERO_TIME and not fraction.strip(".0"):
        return None
    shift = _CYCLE if seconds < _ZERO_TIME else 0
    moment = _EPOCH + timedelta(seconds=seconds + shift)
    return f"{moment.year - (400 if shift else 0):04d}-{moment:%m-%dT%H:%M:%S}{fraction}Z"


def _int_or_string(data: bytes) -> int | str:
    parts = _last_values(data, _INT_OR_STRING)
    return _text(parts.get(3, b"")) if parts.get(1) else _int32(parts.get(2, 0))


class _NoJsonError(ProtobufError): ...


def _raw_json(data: bytes) -> Any:
    """The JSON in a message of RawExtension, JSON or FieldsV1. Raises ProtobufError."""
    raw = _last_values(data, _RAW).get(1)
    try:
        if not raw:
            return None
        return read_trusted(raw) if _bounds.trusted else read_json(raw)
    except ValueError:
        raise _NoJsonError("a field that holds JSON holds something else") from None


def _owned_fields(data: bytes) -> Any:
    """The field set in a message of FieldsV1. "", which is not a field set, if it holds no JSON or nothing:
    kube-apiserver decodes it only later, and then ignores all the managedFields of the object. For a stored object the
    result is None.
    """
    raw = _last_values(data, _RAW).get(1)
    try:
        return _raw_json(data) if raw or _bounds.trusted else ""
    except _NoJsonError:
        return None if _bounds.trusted else ""


class _SchemaOr(NamedTuple):
    """A union of JSONSchemaProps and an alternative: both field numbers, and how the alternative is read."""

    schema: int
    other: int
    go_name: str
    read: Read
    repeated: bool


def _schema_or(union: _SchemaOr, data: bytes) -> Any:
    wires = {union.schema: (BYTES, "Schema"), union.other: (VARINT if union.read is bool else BYTES, union.go_name)}
    fields = []
    for number, wire, value in wire_fields(data):
        if number not in wires:
            continue
        if wire != wires[number][0]:
            raise _wrong_wire(wire, wires[number][1])
        _take()
        fields.append((number, value))
    others = [union.read(value) for number, value in fields if number == union.other]
    for number, value in fields:
        if number == union.schema:
            return _schema(value)
    if union.repeated:
        return others
    return others[0] if others else False


def _schema(data: bytes) -> JsonObject:
    return _message(type_of("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"), data)


def _unreadable(value: Any) -> Any:
    raise ProtobufError("a field of a type that is not read from protobuf")


_SCHEMA_OR = {
    "v1.JSONSchemaPropsOrArray": _SchemaOr(1, 2, "JSONSchemas", _schema, True),
    "v1.JSONSchemaPropsOrBool": _SchemaOr(2, 1, "Allows", bool, False),
    "v1.JSONSchemaPropsOrStringArray": _SchemaOr(1, 2, "Property", _text, True),
}
_VARINT_KINDS = frozenset({TypeKind.INT32, TypeKind.INT64, TypeKind.BOOL})
_READERS: dict[TypeKind, Read] = {
    TypeKind.STRING: _text,
    TypeKind.INT32: _int32,
    TypeKind.INT64: _integer,
    TypeKind.BOOL: bool,
    TypeKind.FLOAT: lambda data: struct.unpack("<d", data)[0],
    TypeKind.BYTES: lambda data: b64encode(data).decode(),
    TypeKind.QUANTITY: _quantity,
    TypeKind.TIME: _time,
    TypeKind.MICROTIME: _micro_time,
    TypeKind.INT_OR_STRING: _int_or_string,
    TypeKind.ANY: _raw_json,
}
