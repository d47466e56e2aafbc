"""The objects of events as JSON: what was sent, of the value that its own parser made, and what was answered."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from gateway.jsontypes import JsonObject, dumps
from gateway.schema.catalog import type_for, type_of
from gateway.schema.decode import DecodeReport, decode
from gateway.schema.encode import encode_answer
from gateway.schema.order import in_go_order
from gateway.schema.outside import read_yaml
from gateway.schema.protobuf import read_envelope, read_message

if TYPE_CHECKING:
    from gateway.schema.types import Type

LARGEST_OBJECT = 4 << 20  # bytes; larger ones are left out
JSON = "application/json"
_PARTIAL = "PartialObjectMetadata"
_DISCOVERY = "io.k8s.api.apidiscovery.v2."


class LeftOut(ValueError):
    """An object that is too large for an event, or nested too deeply to be written."""


@dataclass(frozen=True, slots=True)
class Body:
    """An object as this server has written it. `media` is its type: JSON, YAML, CBOR or protobuf."""

    data: bytes
    media: str = JSON


def bounded(write: Callable[[], bytes]) -> bytes:
    """The JSON that is written. Raises LeftOut for what is too much, or too deep to be written."""
    try:
        data = write()
    except (ValueError, RecursionError):
        raise LeftOut from None
    if len(data) > LARGEST_OBJECT:
        raise LeftOut
    return data


def written(value: Any) -> bytes:
    """A parsed value as JSON. Raises LeftOut."""
    return bounded(lambda: dumps(value))


def written_object(obj: JsonObject, without_managed_fields: bool) -> bytes:
    """A decoded object with kind and apiVersion as JSON, in Go's order. Raises LeftOut."""
    if without_managed_fields and "managedFields" in (meta := obj.get("metadata") or {}):
        obj = {**obj, "metadata": {name: each for name, each in meta.items() if name != "managedFields"}}
    return bounded(lambda: encode_answer(obj, obj["kind"], obj["apiVersion"]).rstrip())


def in_json(body: Body) -> Body | None:
    """An answer of this server, whatever its representation, in JSON; None for one that holds no object."""
    if body.media == JSON or not body.media.endswith(("yaml", "cbor", "protobuf")):
        return body
    try:
        return Body(written(_decoded(body)))
    except (ValueError, RecursionError):
        return None


def embedded(body: Body, without_managed_fields: bool) -> Any:
    """What stands for an answer in JSON in an event, for `dumps`; None for one that is no JSON."""
    try:
        found = orjson.loads(body.data)
    except ValueError:
        return None
    data = body.data.rstrip()
    if without_managed_fields and b'"managedFields"' in data:
        return _stripped(found)
    return found if b"\n" in data else orjson.Fragment(data)


def _decoded(body: Body) -> Any:
    """Raises ValueError."""
    if body.media.endswith("yaml"):
        return read_yaml(body.data)[0]
    if body.media.endswith("cbor"):
        from gateway.encodings.cbor import decode

        return decode(body.data)
    return _of_protobuf(body.data)


def _of_protobuf(data: bytes) -> Any:
    """What Go would write of a message, which has the zero values too that JSON leaves out. Raises ValueError."""
    envelope = read_envelope(data)
    type_ = _type_of(envelope.api_version, envelope.kind)
    if type_ is None:
        raise ValueError(f"no type {envelope.kind} is known")
    obj = decode(type_, read_message(type_, envelope.raw), DecodeReport())
    version = {"apiVersion": envelope.api_version} if envelope.api_version else {}
    items = obj.get("items")
    if envelope.kind == f"{_PARTIAL}List":  # its items name themselves, but not in protobuf
        obj["items"] = [{"kind": _PARTIAL, **version, **each} for each in items or ()] or None
    elif "items" in type_.fields:
        obj["items"] = items or []
    return in_go_order(type_, {"kind": envelope.kind, **version, **obj})


def _type_of(api_version: str, kind: str) -> Type | None:
    """The type of a kind of answers; None for one that is not known."""
    group, _, version = api_version.rpartition("/")
    with suppress(KeyError):
        return type_of(_DISCOVERY + kind) if group == "apidiscovery.k8s.io" else type_for(group, version, kind)
    return None


def _stripped(found: Any) -> Any:
    if isinstance(found, dict):
        _strip(found)
        for each in found.get("items") or found.get("rows") or ():
            if isinstance(each, dict):
                _strip(each)
                _strip(each.get("object"))
    return found


def _strip(obj: Any) -> None:
    meta = obj.get("metadata") if isinstance(obj, dict) else None
    if isinstance(meta, dict):
        meta.pop("managedFields", None)
