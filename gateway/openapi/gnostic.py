"""Encodes OpenAPI documents as gnostic's protobuf messages, from their JSON form.

versionN_messages.json describes the messages. hack/gotypes/openapi makes it of the published gnostic models. The
messages have the structure of the document, with three exceptions. Maps are lists of named values. Values of several
types are messages with a oneof. Values of any type are YAML text.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from gateway.encodings.protobuf_values import FIXED64, VARINT, VARINTS, delimited, tag
from gateway.encodings.yaml import to_yaml
from gateway.jsontypes import JsonObject, dumps_plain, loads
from gateway.memo import Recent

PROTOBUF = "application/com.github.proto-openapi.spec.v{version}.v1.0+protobuf"
PROTOBUF_BEFORE = (
    "application/com.github.proto-openapi.spec.v{version}@v1.0+protobuf"  # the older name, no valid media type
)

Write = Callable[[Any], bytes]  # a JSON value -> its encoding, with its length prefix if it has one


class MessageField(NamedTuple):
    """A field of a message; `how` is "repeated", "oneof" or ""."""

    name: str
    number: int
    type: str
    how: str


class Gnostic:
    """The messages of one OpenAPI version."""

    def __init__(self, version: int) -> None:
        facts = loads(Path(__file__).with_name(f"version{version}_messages.json").read_bytes())
        self._messages = {name: [MessageField(*field) for field in fields] for name, fields in facts.items()}
        self._contents: dict[str, Write] = {}
        self._writers: dict[str, Write] = {"string": _string, "bool": _bool, "double": _double, "int64": _integer}

    def document(self, document: JsonObject) -> bytes:
        """Encodes a whole Document. Values of type bytes are messages that are encoded already."""
        return self._body("Document")(document)

    def content(self, message: str, value: JsonObject) -> bytes:
        """Encodes the content of a message, without its length. Such contents can be joined."""
        known = self._contents.get(message)
        if known is None:
            known = self._contents[message] = self._body(message)
        return known(value)

    def _writer(self, type_: str) -> Write:
        found = self._writers.get(type_)
        if found is None:
            self._writers[type_] = lambda value: self._writers[type_](value)  # for recursive messages
            body = self._body(type_)
            found = self._writers[type_] = lambda value: delimited(value if type(value) is bytes else body(value))
        return found

    def _body(self, name: str) -> Write:
        """The function that encodes the content of a message."""
        fields = self._messages[name]
        if name == "Any":
            return _any
        if all(field.how == "oneof" for field in fields):
            return self._choice(fields)
        if len(fields) == 1 and fields[0].how == "repeated" and not fields[0].type.startswith("Named"):
            return self._only(fields[0])
        return self._object(fields)

    def _choice(self, fields: list[MessageField]) -> Write:
        alternatives = [(field, _start(field), self._writer(field.type)) for field in fields]

        def write(value: Any) -> bytes:
            chosen = _chosen(fields, value)
            for field, start, writer in alternatives:
                if field is chosen:
                    return start + writer(value)
            return b""

        return write

    def _only(self, field: MessageField) -> Write:
        """Encodes a message that wraps a list. In JSON, it may be a single value."""
        start, writer = _start(field), self._writer(field.type)
        return lambda value: b"".join(
            [start + writer(each) for each in (value if isinstance(value, list) else [value])]
        )

    def _object(self, fields: list[MessageField]) -> Write:
        known = frozenset(field.name for field in fields if not _is_named(field))
        extended = any(_is_extension(field) for field in fields)
        steps = [self._map(field, known, extended) if _is_named(field) else self._member(field) for field in fields]
        return lambda value: b"".join([step(value) for step in steps])

    def _map(self, field: MessageField, known: frozenset[str], extended: bool) -> Write:
        """Encodes the members that are not fields as named values: either the extensions (x-…) or all others.

        `extended`: the message has a field for extensions.
        """
        start, writer, extension = _start(field), self._writer(field.type), _is_extension(field)

        def belongs(key: str) -> bool:
            return key not in known and (not extended or key.startswith("x-") == extension)

        return lambda value: b"".join(
            [start + writer({"name": key, "value": each}) for key, each in value.items() if belongs(key)]
        )

    def _member(self, field: MessageField) -> Write:
        start, writer, name = _start(field), self._writer(field.type), field.name
        if field.how == "repeated":
            return lambda value: b"".join([start + writer(each) for each in value.get(name) or ()])
        if field.type in _SCALARS:
            return lambda value: start + writer(value[name]) if value.get(name) else b""
        return lambda value: start + writer(value[name]) if name in value else b""


@cache
def gnostic(version: int) -> Gnostic:
    """The messages of version 2 or 3."""
    return Gnostic(version)


def _chosen(fields: list[MessageField], value: Any) -> MessageField | None:
    """The field of a oneof for a value; None if gnostic has no field for it."""
    by_type = {field.type: field for field in fields}
    match value:
        case bool():
            return by_type.get("bool")
        case str():
            return by_type.get("string")
        case int() | float():
            return by_type.get("double")
        case {"$ref": _}:
            return by_type.get("Reference") or by_type.get("JsonReference") or _message_of(fields)
        case {"in": "body"} if "BodyParameter" in by_type:
            return by_type["BodyParameter"]
        case {"in": str(place)} if f"{place.capitalize()}ParameterSubSchema" in by_type:
            return by_type[f"{place.capitalize()}ParameterSubSchema"]
        case {"in": _} if "NonBodyParameter" in by_type:
            return by_type["NonBodyParameter"]
        case {"type": "apiKey"} if "ApiKeySecurity" in by_type:
            return by_type["ApiKeySecurity"]
        case dict():
            return _message_of(fields)
    return None


def _message_of(fields: list[MessageField]) -> MessageField | None:
    return next((field for field in fields if field.type not in _SCALARS), None)


def _is_named(field: MessageField) -> bool:
    return field.how == "repeated" and field.type.startswith("Named")


def _is_extension(field: MessageField) -> bool:
    return field.type == "NamedAny" and field.name != "additionalProperties"


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _start(field: MessageField) -> bytes:
    return tag(field.number, _WIRE.get(field.type, 2))


def _string(value: Any) -> bytes:
    return delimited(value.encode())


def _bool(value: Any) -> bytes:
    return b"\1" if value else b"\0"


def _double(value: Any) -> bytes:
    try:
        return struct.pack("<d", value)
    except (struct.error, OverflowError) as error:  # the same exception as for other wrong types
        raise ValueError(f"{value!r:.100} is not a number") from error


def _integer(value: Any) -> bytes:
    return VARINTS[value]


def _any(value: Any) -> bytes:
    """Any value, as YAML text."""
    return _yaml(dumps_plain(value))


_texts: Recent[bytes, bytes] = Recent(4096, 4 << 20)


def _yaml(value: bytes) -> bytes:
    found = _texts.find(value)
    if found is None:
        found = tag(2) + delimited(to_yaml(value).removesuffix(b"...\n"))
        _texts.keep(value, found, len(value) + len(found))
    return found


_WIRE = {"bool": VARINT, "int64": VARINT, "double": FIXED64}
_SCALARS = frozenset({"string", "bool", "double", "int64"})
