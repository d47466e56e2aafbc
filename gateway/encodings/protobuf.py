"""application/vnd.kubernetes.protobuf: objects, lists and watch events (API Concepts, "Protobuf encoding").

An object is encoded once: `message` returns its bytes, and all other functions only put bytes around them. So a list
joins the remembered bytes of its objects, and an event wraps one answer.
"""

from __future__ import annotations

from collections.abc import Sequence

from gateway.encodings.protobuf_compile import message_encoder
from gateway.encodings.protobuf_values import VARINTS, delimited, text
from gateway.jsontypes import JsonObject, TooDeep
from gateway.schema.catalog import META, type_of
from gateway.schema.types import Type

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
STREAM_TYPE = "application/vnd.kubernetes.protobuf;stream=watch"
MAGIC = b"k8s\0"

_END = b"\x1a\x00\x22\x00"  # runtime.Unknown's contentEncoding and contentType


class ProtobufEncodeError(ValueError):
    """An object that can't be encoded, because it is nested too deeply."""


def message(type_: Type, obj: JsonObject) -> bytes:
    """Encodes an object, given as parsed canonical JSON, without its kind and apiVersion.

    Raises ProtobufEncodeError.
    """
    try:
        return message_encoder(type_)(obj)
    except (RecursionError, TooDeep):
        raise ProtobufEncodeError("the object is nested too deeply for protobuf") from None


def answer(api_version: str, kind: str, content: bytes) -> bytes:
    """The answer with an object: `runtime.Unknown` around its message."""
    return b"".join((_head(api_version, kind, len(content)), content, _END))


def list_item(content: bytes) -> bytes:
    """A list's item: the message of an object, with tag and length."""
    return b"\x12" + delimited(content)


def list_answer(api_version: str, kind: str, metadata: JsonObject, items: Sequence[bytes]) -> list[bytes]:
    """The parts of a list: `kind` is the list's, `metadata` its ListMeta, `items` come from `list_item`."""
    head, end = list_frame(api_version, kind, metadata, sum(map(len, items)))
    return [head, *items, end]


def list_frame(api_version: str, kind: str, metadata: JsonObject, size: int) -> tuple[bytes, bytes]:
    """The bytes before and after a list's items, which have `size` bytes in total."""
    meta = b"\x0a" + delimited(message_encoder(type_of(META + "ListMeta"))(metadata))
    return _head(api_version, kind, len(meta) + size) + meta, _END


def watch_event(event_type: str, content: bytes) -> bytes:
    """A frame of a watch: four bytes of length, and a WatchEvent around an answer. Also for BOOKMARK and ERROR."""
    raw = b"".join((b"\x0a", VARINTS[len(content)], content))
    event = b"".join((b"\x0a", text(event_type), b"\x12", VARINTS[len(raw)], raw))
    return len(event).to_bytes(4, "big") + event


def _head(api_version: str, kind: str, size: int) -> bytes:
    type_meta = b"\x0a" + text(api_version) + b"\x12" + text(kind)
    return b"".join((MAGIC, b"\x0a", delimited(type_meta), b"\x12", VARINTS[size]))
