"""application/cbor and application/cbor-seq: objects, lists, watch events and bodies (API Concepts, "CBOR encoding").

Kubernetes' rules for RFC 8949: each top-level item has the tag of self-described CBOR. Strings and keys are byte
strings. Keys may have any order (kube-apiserver shuffles them); here they have that of the JSON. Numbers take the
shortest form. A base64 string of JSON is a byte string with the tag "expected later encoding: base64". An object is
encoded once (`content`); lists and events wrap it.
"""

from __future__ import annotations

from base64 import b64decode, b64encode, urlsafe_b64encode
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from io import BytesIO
from math import isfinite
from sys import maxsize
from typing import Any

import cbor2

from gateway.jsontypes import MOST_COLLECTIONS, MOST_NAMES, JsonObject
from gateway.schema.types import Type, TypeKind
from gateway.time_limits import GivenUp, TakesLong, look

MEDIA_TYPE = "application/cbor"
STREAM_TYPE = "application/cbor-seq"  # of a watch's answer; its request accepts application/cbor
APPLY_TYPE = "application/apply-patch+cbor"
SELF_DESCRIBED = b"\xd9\xd9\xf7"
MAX_DEPTH = 256

_KEY = "cbor"
_LATER_BASE64 = b"\xd6"  # the head of tag 22
_NEGATIVE, _BYTES, _TEXT, _ARRAY, _MAP = 0x20, 0x40, 0x60, 0x80, 0xA0  # major types
_ENDLESS = 31  # the size of an item of indefinite length: pieces follow until a break
_SIMPLE = {False: b"\xf4", True: b"\xf5", None: b"\xf6"}
_MEMO_LIMIT, _MEMO_LENGTH = 4096, 64
_INT64 = 1 << 63
_BUILT_IN_TAGS = (*range(4, 6), 25, 28, 29, 30, 35, 36, 37, 43000, 52, 54, 100, 256, 258, 260, 261, 1004, 55799)

Write = Callable[[Any], bytes]  # a JSON value -> its item


class CborError(ValueError):
    """Bytes that are not CBOR, or that JSON can't represent; or an object that is nested too deeply to be encoded."""


def content(value: Any, type_: Type | None) -> bytes:
    """Encodes a JSON value, without the outer tag; `type_` is None for a custom kind. Raises CborError."""
    write = _plain if type_ is None else _writer(type_)
    try:
        return write(value)
    except (RecursionError, OverflowError) as problem:
        raise CborError(f"the object cannot be written in CBOR: {problem}") from None


def answer(made: bytes) -> bytes:
    """The answer with an object: the outer tag and the result of `content`."""
    return SELF_DESCRIBED + made


def list_head(api_version: str, kind: str, metadata: JsonObject, count: int) -> bytes:
    """The bytes of a list before its `count` items; `kind` is the list's. The contents of the items follow."""
    members = (("kind", kind), ("apiVersion", api_version), ("metadata", metadata))
    named = b"".join([content(name, None) + content(value, None) for name, value in members])
    return SELF_DESCRIBED + b"\xa4" + named + content("items", None) + _head(_ARRAY, count)


def watch_event(event_type: str, made: bytes) -> bytes:
    """A watch event around an answer: an object, a bookmark or a Status."""
    return b"".join((SELF_DESCRIBED, b"\xa2\x44type", content(event_type, None), b"\x46object", made))


def _head(major: int, size: int) -> bytes:
    """The head of an item: its major type and its length, or for an integer its value. Raises OverflowError."""
    if size < 24:
        return bytes([major | size])
    width = next((width for width in (1, 2, 4, 8) if size < 1 << 8 * width), 0)
    if not width:
        raise OverflowError(f"{size} takes more than 64 bits")
    return bytes([major | 23 + width.bit_length()]) + size.to_bytes(width, "big")


class _Texts(dict[str, bytes]):
    """A memo of encoded strings: field names and many values occur again and again."""

    def __missing__(self, text: str) -> bytes:
        data = text.encode()
        made = _head(_BYTES, len(data)) + data
        if len(data) <= _MEMO_LENGTH:
            if len(self) >= _MEMO_LIMIT:
                self.clear()
            self[text] = made
        return made


_texts = _Texts()


def _plain(value: Any) -> bytes:
    kind = type(value)
    if kind is str:
        return _texts[value]
    if kind is dict:
        out = [_head(_MAP, len(value))]
        for key, item in value.items():
            out += (_texts[key], _texts[item] if type(item) is str else _plain(item))
        return b"".join(out)
    if kind is list:
        return b"".join([_head(_ARRAY, len(value)), *map(_plain, value)])
    if kind is int:
        return _head(0, value) if value >= 0 else _head(_NEGATIVE, -1 - value)
    if kind is float:
        return cbor2.dumps(value, canonical=True)  # in the shortest form
    return _SIMPLE[value]


def _writer(type_: Type) -> Write:
    """The encoder of a type's JSON, compiled once per type. It is `_plain` for a type without byte fields."""
    known: Write | None = type_.compiled.get(_KEY)
    if known is None:
        type_.compiled[_KEY] = lambda value: type_.compiled[_KEY](value)  # for recursive types
        known = type_.compiled[_KEY] = _compile(type_)
    return known


def _compile(type_: Type) -> Write:
    match type_.kind:
        case TypeKind.BYTES:
            return _bytes
        case TypeKind.STRUCT:
            fields = {each.name: _writer(each.type) for each in type_.fields.values()}
            writers = {name: write for name, write in fields.items() if write is not _plain}
            return partial(_struct, writers) if writers else _plain
        case TypeKind.LIST | TypeKind.MAP if type_.elem is not None:
            write = _writer(type_.elem)
            if write is not _plain:
                return partial(_list if type_.kind is TypeKind.LIST else _map, write)
    return _plain


def _bytes(value: Any) -> bytes:
    if value is None:
        return _SIMPLE[None]
    data = b64decode(value)
    return _LATER_BASE64 + _head(_BYTES, len(data)) + data


def _struct(writers: dict[str, Write], value: Any) -> bytes:
    if type(value) is not dict:
        return _plain(value)
    members = [part for key, item in value.items() for part in (_texts[key], writers.get(key, _plain)(item))]
    return _head(_MAP, len(value)) + b"".join(members)


def _list(write: Write, value: Any) -> bytes:
    return b"".join([_head(_ARRAY, len(value)), *map(write, value)]) if value else _plain(value)


def _map(write: Write, value: Any) -> bytes:
    if not value:
        return _plain(value)
    return _head(_MAP, len(value)) + b"".join(
        [part for key, item in value.items() for part in (_texts[key], write(item))]
    )


_NOT_OF_COLLECTIONS = bytes((*range(_ARRAY), *range(0xC0, 0x100)))
_LENGTHS = {24: 1, 25: 2, 26: 4, 27: 8}  # bytes of the length or value after the first byte, by its low five bits
_SOME = 4096  # items that are scanned in less than a few milliseconds


def _refuse_many(data: bytes) -> None:
    """Raises CborError for more than `MOST_COLLECTIONS` maps and lists: one byte of input takes 64 bytes of memory."""
    if len(data) <= MOST_COLLECTIONS or len(data.translate(None, _NOT_OF_COLLECTIONS)) <= MOST_COLLECTIONS:
        return  # so few bytes look like the start of one, even inside strings
    position, end, collections, seen = 0, len(data), 0, 0
    while position < end:
        seen += 1
        if not seen % _SOME:
            look()
        first = data[position]
        size, width = first & 31, _LENGTHS.get(first & 31, 0)
        major, position = first & 0xE0, position + 1
        if width:
            size, position = int.from_bytes(data[position : position + width], "big"), position + width
        if major in (_BYTES, _TEXT) and size != _ENDLESS:
            position += size
        elif major in (_ARRAY, _MAP):
            collections += 1
            if collections > MOST_COLLECTIONS:
                raise CborError(f"cbor: more than {MOST_COLLECTIONS} maps and lists; send fewer")


class _Source(BytesIO):
    """The input of the decoder, which reads it in pieces of a few kilobytes. In between, other threads can run, and
    `look` can stop the decoding.
    """

    def read(self, size: int | None = -1, /) -> bytes:
        look()
        return super().read(size)


def decode(data: bytes, *, trusted: bool = False) -> Any:
    """Decodes one CBOR item to a JSON value: byte strings become text, those with a tag for base64 become base64.

    `trusted` items have no bounds: an API server has written them, and etcd bounds their bytes.

    Raises CborError for invalid CBOR, and for values that JSON can't represent: duplicate keys, integers of more than
    64 bits, NaN. Also raises what `look` raises.
    """
    try:
        if not trusted:
            _refuse_many(data)
        source = _Source(data)
        decoder = cbor2.CBORDecoder(
            source,
            max_depth=MAX_DEPTH,
            allow_duplicate_keys=False,
            strict_hashable_types=True,
            tag_hook=_tagged,
            semantic_decoders=_TAGS,
        )
        value = _json(decoder.decode(), maxsize if trusted else MOST_NAMES)
        if (end := source.tell()) != len(data):
            raise CborError(f"cbor: {len(data) - end} bytes of extraneous data starting at index {end}")
        return value
    except (CborError, TakesLong, GivenUp):
        raise
    except cbor2.CBORDecodeEOF:
        raise CborError("unexpected EOF" if data else "EOF") from None
    except (ValueError, TypeError, EOFError, OverflowError, RecursionError, cbor2.CBORError) as problem:
        if isinstance(problem.__cause__, TakesLong | GivenUp):  # raised by `_Source.read` or a tag's function
            raise problem.__cause__ from None
        raise CborError(f"cbor: {problem}") from None


def _json(value: Any, most: int) -> Any:
    """The JSON form of a decoded value whose maps have at most so many members. Raises CborError."""
    match value:
        case str() | bool() | None:
            return value
        case bytes():
            return value.decode("utf-8", "replace")
        case int() if -_INT64 <= value < _INT64:
            return value
        case float() if isfinite(value):
            return value
        case list() | dict() if not value:
            return value
        case list():
            look()
            return [_json(item, most) for item in value]
        case dict():
            look()
            if len(value) > most:
                raise CborError(f"cbor: more than {most} members of one map; send fewer")
            made = {_json(key, most): _json(item, most) for key, item in value.items()}
            if len(made) != len(value):
                raise CborError("cbor: a map has a key twice")
            return made
    raise CborError("cbor: a value that JSON has no form of")


def _tagged(tag: cbor2.CBORTag, *_: Any) -> Any:
    """Encodes a byte string with a tag for later encoding as that text; other tags are ignored."""
    look()
    encode = _LATER.get(tag.tag)
    return encode(tag.value) if encode is not None and isinstance(tag.value, bytes) else tag.value


_LATER: dict[int, Callable[[bytes], str]] = {
    21: lambda value: urlsafe_b64encode(value).decode().rstrip("="),
    22: lambda value: b64encode(value).decode(),
    23: bytes.hex,
}


def _within(value: Any, immutable: bool) -> Any:
    return value


def _moment(value: Any, immutable: bool) -> str:
    """Seconds since the epoch as RFC 3339."""
    look()
    moment = datetime(1970, 1, 1) + timedelta(seconds=value)
    return f"{moment.isoformat().rstrip('0').rstrip('.') if moment.microsecond else moment.isoformat()}Z"


def _refused(value: Any, immutable: bool) -> Any:
    raise CborError("cbor: an integer of any size is not accepted")


_TAGS: dict[int, Callable[[Any, bool], Any]] = {
    **dict.fromkeys(_BUILT_IN_TAGS, _within),
    0: _within,
    1: _moment,
    2: _refused,
    3: _refused,
}
