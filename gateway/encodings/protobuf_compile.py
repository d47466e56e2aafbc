"""Functions that encode a type's protobuf message from its JSON form, compiled once per type.

They are generated as Python source, with one statement per field, without a loop over fields, and without calls for
scalars: that is several times as fast as closures. The names in the source are generated (numbers and positions). JSON
names and tags are literals in it; everything else comes through the function's globals.

The rules are those of Kubernetes' generated marshallers. Fields are written in the order of their numbers. A field held
by value is always written, a field held by pointer only if it is set. Lists and maps are written by element, maps
sorted by key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import itemgetter
from typing import Any

from gateway.encodings.protobuf_memory import FieldMemo, SharedMessages, StringMemo
from gateway.encodings.protobuf_values import ENCODED, VARINTS, WIRE, ZERO, Value, delimited, tag, text
from gateway.schema.protobuf import ITEMS_IN_MESSAGE
from gateway.schema.types import Field, Type, TypeKind

Encode = Callable[[Any], bytes]  # a JSON object -> its message

_KEY = "protobuf"
_KEY_OF = itemgetter(0)
_REMEMBERED = frozenset(
    {
        TypeKind.STRING,
        TypeKind.INT32,
        TypeKind.INT64,
        TypeKind.BOOL,
        TypeKind.FLOAT,
        TypeKind.QUANTITY,
        TypeKind.TIME,
        TypeKind.MICROTIME,
        TypeKind.INT_OR_STRING,
    }
)


def message_encoder(type_: Type) -> Encode:
    """The function that encodes a struct type's message. Its argument is the object as parsed canonical JSON."""
    encode: Encode | None = type_.compiled.get(_KEY)
    if encode is None:
        encode = type_.compiled[_KEY] = _compile(list(type_.fields.values()), 0)
    return encode


def _compile(fields: list[Field], depth: int) -> Encode:
    """Compiles the encoder of some fields; `depth` is the number of embedded structs around them."""
    source = _Source()
    by_number: dict[int, list[Field]] = {}
    for each in fields:
        if each.number and each.embedded[-1:] != ("TypeMeta",):
            outer = [number for number in each.embedded_numbers if number][depth:]
            by_number.setdefault(outer[0] if outer else each.number, []).append(each)
    for number, members in sorted(by_number.items()):
        if [number for number in members[0].embedded_numbers if number][depth:]:
            source.embedded(number, _compile(members, depth + 1))
        else:
            source.field(members[0])
    return source.function()


class _Source:
    """The body of a function under construction, and its globals."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._scalars: list[str] = []  # expressions that are not added to the lines yet
        self.globals: dict[str, Any] = {"V": VARINTS, "delimited": delimited}

    def function(self) -> Encode:
        if self._lines:
            self._flush()
            body = [*self._lines, ' return b"".join(out)']
        else:
            body = [f' return b"".join([{", ".join(self._scalars)}])']
        exec("\n".join(["def encode(value):", " get = value.get", *body]), self.globals)
        encode: Encode = self.globals["encode"]
        return encode

    def embedded(self, number: int, encode: Encode) -> None:
        """Adds an embedded struct, which protobuf nests and JSON does not."""
        self._add(f"part = {self._global(encode)}(value)", f"out += ({tag(number)!r}, V[len(part)], part)")

    def field(self, each: Field) -> None:
        match each.type.kind:
            case TypeKind.LIST if each.type.elem is not None and each.type.name not in ITEMS_IN_MESSAGE:
                self._repeated(each, each.type.elem)
            case TypeKind.MAP if each.type.elem is not None:
                self._map(each, each.type.elem)
            case TypeKind.STRUCT:
                self._struct(each)
            case kind if kind in _REMEMBERED:
                absent = b"" if each.pointer else _tagged(each.number, kind, ZERO[kind])
                memo = _memo(each.number, kind, absent)
                self._scalars.append(f"{self._global(memo)}[get({each.name!r})]")
            case _:
                self._message(each)

    def _message(self, each: Field) -> None:
        """Adds a field of bytes, free JSON, a union with a schema, or a list that is a message."""
        encode = self._global(_value_encoder(each.type))
        found = f"out += ({tag(each.number)!r}, {encode}(item))"
        if each.pointer or each.type.kind in (TypeKind.BYTES, TypeKind.LIST):
            self._add(f"item = get({each.name!r})", f"if item is not None: {found}")
        else:
            self._add(f"item = get({each.name!r})", found)

    def _struct(self, each: Field) -> None:
        encode, name = self._later(each.type), tag(each.number)
        self._add(f"item = get({each.name!r})")
        written = f"part = {encode}(item); out += ({name!r}, V[len(part)], part)"
        if each.pointer:
            self._add(f"if item is not None: {written}")
        else:
            zero = self._global(name + delimited(message_encoder(each.type)({})))
            self._add(f"if item: {written}", f"else: out.append({zero})")

    def _repeated(self, each: Field, elem: Type) -> None:
        found = f"items = get({each.name!r})"
        if elem.kind is TypeKind.STRUCT:
            encode, name = self._later(elem), tag(each.number)
            written = f"part = {encode}(item); out += ({name!r}, V[len(part)], part)"
            self._add(found, "if items:", " for item in items:", f"  {written}")
            return
        name = tag(each.number, WIRE.get(elem.kind, 2))
        if elem.kind in _REMEMBERED:
            memo = self._global(_memo(each.number, elem.kind, _tagged(each.number, elem.kind, ZERO[elem.kind])))
            self._add(found, f"if items: out += [{memo}[item] for item in items]")
        else:
            encode = self._global(_value_encoder(elem))
            self._add(found, "if items:", f" for item in items: out += ({name!r}, {encode}(item))")

    def _map(self, each: Field, elem: Type) -> None:
        entries = _entries_encoder(tag(each.number), elem)
        if elem.kind in _REMEMBERED:
            items = f"{self._global(FieldMemo(b'', entries, b''))}[tuple(items.items())]"
        else:
            items = f"{self._global(entries)}(items.items())"
        self._add(f"items = get({each.name!r})", f"if items: out.append({items})")

    def _later(self, type_: Type) -> str:
        """The global name of a struct type's encoder, which is compiled at its first use: most types are never used."""
        names = self.globals
        name = f"g{len(names)}"

        def first(value: Any) -> bytes:
            encode = message_encoder(type_)
            names[name] = SharedMessages(encode) if _is_composed(type_) else encode
            return encode(value)

        names[name] = first
        return name

    def _global(self, value: Any) -> str:
        name = f"g{len(self.globals)}"
        self.globals[name] = value
        return name

    def _add(self, *lines: str) -> None:
        self._flush()
        self._lines += [" " + line for line in lines]

    def _flush(self) -> None:
        if self._scalars or not self._lines:
            scalars = ", ".join(self._scalars)
            self._lines.append(f" out += ({scalars},)" if self._lines else f" out = [{scalars}]")
            self._scalars = []


def _is_composed(type_: Type) -> bool:
    """Whether a struct has fields that are not scalars."""
    return any(each.type.kind not in _REMEMBERED for each in type_.fields.values())


def _memo(number: int, kind: TypeKind, absent: bytes) -> FieldMemo:
    return (StringMemo if kind is TypeKind.STRING else FieldMemo)(tag(number, WIRE.get(kind, 2)), ENCODED[kind], absent)


def _tagged(number: int, kind: TypeKind, value: Any) -> bytes:
    return tag(number, WIRE.get(kind, 2)) + ENCODED[kind](value)


def _value_encoder(type_: Type) -> Value:
    """The function that encodes a value of the type as the bytes after its tag."""
    if type_.kind is TypeKind.STRUCT:
        return lambda value: delimited(message_encoder(type_)(value or {}))
    if type_.kind is TypeKind.LIST and type_.elem is not None:  # in a map: a message of the items
        item, name = _value_encoder(type_.elem), tag(1, WIRE.get(type_.elem.kind, 2))
        return lambda value: delimited(b"".join([name + item(each) for each in value or ()]))
    if type_.kind is TypeKind.ANY and type_.elem is not None:
        return _union(type_.name, type_.elem)
    return ENCODED[type_.kind]


def _entries_encoder(name: bytes, elem: Type) -> Callable[[Iterable[tuple[str, Any]]], bytes]:
    """The function that encodes a map's entries, sorted by key. An entry of null bytes has no value field."""
    encode, value_tag, bytes_ = _value_encoder(elem), tag(2, WIRE.get(elem.kind, 2)), elem.kind is TypeKind.BYTES

    def entries(items: Iterable[tuple[str, Any]]) -> bytes:
        found: list[bytes] = []
        for key, value in sorted(items, key=_KEY_OF):
            written = b"" if value is None and bytes_ else value_tag + encode(value)
            found += (name, delimited(b"\x0a" + text(key) + written))
        return b"".join(found)

    return entries


def _union(name: str, schema: Type) -> Value:
    """The function that encodes a JSONSchemaPropsOrBool, …OrArray or …OrStringArray."""

    def schema_at(number: int, value: Any) -> bytes:
        return tag(number) + delimited(message_encoder(schema)(value))

    def or_bool(value: Any) -> bytes:
        allows = b"\x08\x01" if value or value == {} else b"\x08\x00"
        return delimited(allows + schema_at(2, value) if isinstance(value, dict) else allows)

    def or_list(value: Any) -> bytes:
        if isinstance(value, dict):
            return delimited(schema_at(1, value))
        items = [b"\x12" + text(each) if isinstance(each, str) else schema_at(2, each) for each in value or ()]
        return delimited(b"".join(items))

    return or_bool if name.endswith("OrBool") else or_list
