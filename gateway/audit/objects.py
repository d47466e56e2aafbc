"""Encodes the objects of events as JSON: the request's object, as the request has parsed it, and the answer's."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from gateway.audit.managed_fields import cut_out_managed_fields
from gateway.jsontypes import JsonObject, dumps, members, read_at_once
from gateway.schema.catalog import type_for, type_of
from gateway.schema.decode import DecodeReport, decode
from gateway.schema.encode import encode_answer
from gateway.schema.order import in_go_order
from gateway.schema.outside import read_json, read_yaml
from gateway.schema.protobuf import read_envelope, read_message

if TYPE_CHECKING:
    from gateway.schema.types import Type

LARGEST_OBJECT = 4 << 20  # bytes; larger ones are left out
MOST_STRIPPED = 160_000  # arrays and objects of an answer; 4 MB of pods have 150 000, and four times as many members
JSON = "application/json"
_PARTIAL = "PartialObjectMetadata"
_DISCOVERY = "io.k8s.api.apidiscovery.v2."


class LeftOut(ValueError):
    """An object is too large for an event, or nested too deeply to be encoded."""


@dataclass(frozen=True, slots=True)
class EncodedObject:
    """An encoded object of an answer. `media` is its media type: JSON, YAML, CBOR or protobuf. `own` says that this
    server has made it, so that it is valid.
    """

    data: bytes
    media: str = JSON
    own: bool = False


def bounded(write: Callable[[], bytes]) -> bytes:
    """The JSON that `write` returns. Raises LeftOut if it is too large, or `write` fails."""
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


def in_json(body: EncodedObject) -> EncodedObject | None:
    """Converts an answer in YAML, CBOR or protobuf to JSON; None if that fails. Other media types are returned
    unchanged.
    """
    if body.media == JSON or not body.media.endswith(("yaml", "cbor", "protobuf")):
        return body
    try:
        return EncodedObject(written(_decoded(body)), own=True)
    except (ValueError, RecursionError):
        return None


def embedded(body: EncodedObject, without_managed_fields: bool) -> Any:
    """The value of a JSON answer for `dumps` of an event; None if it is not JSON.

    A large answer of this server is parsed only to take its managed fields away. If that would keep the GIL for too
    long, they are cut out of its text.
    """
    data = body.data.rstrip()
    stripped = without_managed_fields and b'"managedFields"' in data
    at_once = read_at_once(data) or (stripped and _may_be_stripped(data))
    if body.own and body.media == JSON and not at_once:
        if stripped:
            data = cut_out_managed_fields(data)
        return orjson.Fragment(data.replace(b"\n", b""))  # those between members: strings have escaped ones
    try:
        found = orjson.loads(data) if at_once else read_json(data)
    except ValueError:
        return None
    if stripped:
        return _stripped(found)
    return found if b"\n" in data else orjson.Fragment(data)


def _may_be_stripped(data: bytes) -> bool:
    """Whether JSON is parsed in some 100 ms, as 4 MB of pods are: with many more arrays they would take 1.6 s."""
    return data.count(b"[") + data.count(b"{") <= MOST_STRIPPED and members(data) <= 4 * MOST_STRIPPED


def _decoded(body: EncodedObject) -> Any:
    """Decodes an answer that is not JSON. Raises ValueError."""
    if body.media.endswith("yaml"):
        return read_yaml(body.data)[0]
    if body.media.endswith("cbor"):
        from gateway.encodings.cbor import decode

        return decode(body.data)
    return _of_protobuf(body.data)


def _of_protobuf(data: bytes) -> Any:
    """Decodes a protobuf message to the JSON that Go would write, including zero values. Raises ValueError."""
    envelope = read_envelope(data)
    type_ = _type_of(envelope.api_version, envelope.kind)
    if type_ is None:
        raise ValueError(f"no type {envelope.kind} is known")
    obj = decode(type_, read_message(type_, envelope.raw, trusted=True), DecodeReport(trusted=True))
    version = {"apiVersion": envelope.api_version} if envelope.api_version else {}
    items = obj.get("items")
    if envelope.kind == f"{_PARTIAL}List":  # in JSON, unlike in protobuf, its items have kind and apiVersion
        obj["items"] = [{"kind": _PARTIAL, **version, **each} for each in items or ()] or None
    elif "items" in type_.fields:
        obj["items"] = items or []
    return in_go_order(type_, {"kind": envelope.kind, **version, **obj})


def _type_of(api_version: str, kind: str) -> Type | None:
    """The type of a kind; None if it is unknown."""
    group, _, version = api_version.rpartition("/")
    with suppress(KeyError):
        return type_of(_DISCOVERY + kind) if group == "apidiscovery.k8s.io" else type_for(group, version, kind)
    return None


def _stripped(found: Any) -> Any:
    if isinstance(found, dict):
        _strip(found)
        items = found.get("items")
        listed = items if isinstance(items, list) else found.get("rows")
        for each in listed if isinstance(listed, list) else ():
            if isinstance(each, dict):
                _strip(each)
                _strip(each.get("object"))
    return found


def _strip(obj: Any) -> None:
    meta = obj.get("metadata") if isinstance(obj, dict) else None
    if isinstance(meta, dict):
        meta.pop("managedFields", None)
