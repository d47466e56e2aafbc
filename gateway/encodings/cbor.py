"""application/cbor and application/cbor-seq: objects, lists, watch events and bodies (API Concepts, "CBOR encoding").

Kubernetes' rules for RFC 8949: every item that stands by itself has the tag of self-described CBOR; strings and keys
are byte strings; keys are in the order of their bytes, shorter ones first; numbers take the shortest form; what JSON
has as base64 is a byte string tagged for later base64. An object is encoded once (`content`); lists and events wrap it.
"""

from __future__ import annotations

from base64 import b64decode, b64encode, urlsafe_b64encode
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from io import BytesIO
from math import isfinite
from typing import Any

import cbor2

from gateway.jsontypes import JsonObject
from gateway.schema.types import Kind, Type

MEDIA_TYPE = "application/cbor"
STREAM_TYPE = "application/cbor-seq"  # of watches, whose clients ask for application/cbor
APPLY_TYPE = "application/apply-patch+cbor"
SELF_DESCRIBED = b"\xd9\xd9\xf7"
MAX_DEPTH = 256

_KEY = "cbor"
_LATER_BASE64 = 22
_ARRAY = 0x80
_INT64 = 1 << 63
_BUILT_IN_TAGS = (*range(4, 6), 25, 28, 29, 30, 35, 36, 37, 43000, 52, 54, 100, 256, 258, 260, 261, 1004, 55799)

ToPlain = Callable[[Any], Any]


class CborError(ValueError):
    """Bytes that are no CBOR, or none that JSON could say; or an object that is nested too deeply to be written."""


def content(value: Any, type_: Type | None) -> bytes:
    """A JSON value of a type (None for a custom kind's) without the tag around it. Raises CborError."""
    convert = _plain if type_ is None else _converter(type_)
    try:
        return cbor2.dumps(convert(value), canonical=True)
    except (cbor2.CBOREncodeError, RecursionError, OverflowError) as problem:
        raise CborError(f"the object cannot be written in CBOR: {problem}") from None


def answer(made: bytes) -> bytes:
    """An object as a client gets it, of its content."""
    return SELF_DESCRIBED + made


def list_head(api_version: str, kind: str, metadata: JsonObject, count: int) -> bytes:
    """What stands before the contents of a list's items: `kind` is the list's."""
    members = (("kind", kind), ("apiVersion", api_version), ("metadata", metadata))
    named = b"".join([content(name, None) + content(value, None) for name, value in members])
    return SELF_DESCRIBED + b"\xa4" + named + content("items", None) + _array(count)


def watch_event(event_type: str, made: bytes) -> bytes:
    """An event of a watch, around an answer (a bookmark's and a Status' too)."""
    return b"".join((SELF_DESCRIBED, b"\xa2\x44type", content(event_type, None), b"\x46object", made))


def _array(size: int) -> bytes:
    """The head of an array: that of a byte string of the same length, in another major type."""
    if size < 24:
        return bytes([_ARRAY | size])
    width = next(width for width in (1, 2, 4, 8) if size < 1 << 8 * width)
    return bytes([_ARRAY | 23 + width.bit_length()]) + size.to_bytes(width, "big")


def _plain(value: Any) -> Any:
    if type(value) is str:
        return value.encode()
    if type(value) is dict:
        return {key.encode(): _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if type(value) is list else value


def _converter(type_: Type) -> ToPlain:
    """What makes of a type's JSON what is written; compiled once, and nothing but `_plain` where no bytes are."""
    known: ToPlain | None = type_.compiled.get(_KEY)
    if known is None:
        type_.compiled[_KEY] = lambda value: type_.compiled[_KEY](value)  # for types that lead back to themselves
        known = type_.compiled[_KEY] = _compile(type_)
    return known


def _compile(type_: Type) -> ToPlain:
    match type_.kind:
        case Kind.BYTES:
            return lambda value: None if value is None else cbor2.CBORTag(_LATER_BASE64, b64decode(value))
        case Kind.STRUCT:
            fields = {each.name: _converter(each.type) for each in type_.fields.values()}
            converters = {name: convert for name, convert in fields.items() if convert is not _plain}
            return partial(_struct, converters) if converters else _plain
        case Kind.LIST | Kind.MAP if type_.elem is not None:
            convert = _converter(type_.elem)
            if convert is not _plain:
                return partial(_list if type_.kind is Kind.LIST else _map, convert)
    return _plain


def _struct(converters: dict[str, ToPlain], value: Any) -> Any:
    if type(value) is not dict:
        return _plain(value)
    return {key.encode(): converters.get(key, _plain)(item) for key, item in value.items()}


def _list(convert: ToPlain, value: Any) -> Any:
    return value and [convert(item) for item in value]


def _map(convert: ToPlain, value: Any) -> Any:
    return value and {key.encode(): convert(item) for key, item in value.items()}


def decode(data: bytes) -> Any:
    """The JSON value that an item of CBOR stands for: byte strings are text, bytes for later base64 are base64.

    Raises CborError, for what JSON has no form of too: duplicate keys, integers beyond 64 bits, NaN.
    """
    try:
        source = BytesIO(data)
        decoder = cbor2.CBORDecoder(
            source,
            max_depth=MAX_DEPTH,
            allow_duplicate_keys=False,
            strict_hashable_types=True,
            tag_hook=_tagged,
            semantic_decoders=_TAGS,
        )
        value = _json(decoder.decode())
        if (end := source.tell()) != len(data):
            raise CborError(f"cbor: {len(data) - end} bytes of extraneous data starting at index {end}")
        return value
    except CborError:
        raise
    except cbor2.CBORDecodeEOF:
        raise CborError("unexpected EOF" if data else "EOF") from None
    except (ValueError, TypeError, EOFError, OverflowError, RecursionError, cbor2.CBORError) as problem:
        raise CborError(f"cbor: {problem}") from None


def _json(value: Any) -> Any:
    match value:
        case str() | bool() | None:
            return value
        case bytes():
            return value.decode("utf-8", "replace")
        case int() if -_INT64 <= value < _INT64:
            return value
        case float() if isfinite(value):
            return value
        case list():
            return [_json(item) for item in value]
        case dict():
            made = {_json(key): _json(item) for key, item in value.items()}
            if len(made) != len(value):
                raise CborError("cbor: a map has a key twice")
            return made
    raise CborError("cbor: a value that JSON has no form of")


def _tagged(tag: cbor2.CBORTag, *_: Any) -> Any:
    """Bytes for later encoding as the text that they are to become; what other tags say is passed over."""
    encode = _LATER.get(tag.tag)
    return encode(tag.value) if encode is not None and isinstance(tag.value, bytes) else tag.value


_LATER: dict[int, Callable[[bytes], str]] = {
    21: lambda value: urlsafe_b64encode(value).decode().rstrip("="),
    _LATER_BASE64: lambda value: b64encode(value).decode(),
    23: bytes.hex,
}


def _within(value: Any, immutable: bool) -> Any:
    return value


def _moment(value: Any, immutable: bool) -> str:
    """Seconds since the epoch as RFC 3339."""
    moment = datetime(1970, 1, 1) + timedelta(seconds=value)
    fraction = f".{moment.microsecond:06d}".rstrip("0").rstrip(".")
    return f"{moment.year:04d}-{moment:%m-%dT%H:%M:%S}{fraction}Z"


def _refused(value: Any, immutable: bool) -> Any:
    raise CborError("cbor: an integer of any size is not accepted")


_TAGS: dict[int, Callable[[Any, bool], Any]] = {
    **dict.fromkeys(_BUILT_IN_TAGS, _within),
    0: _within,
    1: _moment,
    2: _refused,
    3: _refused,
}
