"""Reads custom objects from storage: prunes and defaults them, and sorts their members.

kube-apiserver stores them as JSON, and with its feature gate CBORServingAndStorage as CBOR. It reads both forms, also
without the gate.

An object stays in the version in which it was written. Its CRD may have changed since, so it is read by the present
schema of that version. Invalid metadata fields are dropped, also those of embedded objects, as in
kube-apiserver.
"""

from __future__ import annotations

from typing import Any

from gateway.jsontypes import JsonObject, loads
from gateway.kinds.identity import GroupVersion
from gateway.kinds.model import Canonicalise, Model, Version
from gateway.schema.decode import DecodeError, DecodeReport
from gateway.schema.encode import encode_stored
from gateway.schema.types import Type, TypeKind

_CBOR = b"\xd9\xd9\xf7"  # the tag of self-described CBOR, with which kube-apiserver begins each value (RFC 8949)
_ESCAPED = frozenset('"\\')  # not allowed in a uid: other code finds the uid's end in the JSON text without parsing it


def canonicaliser(model: Model) -> Canonicalise:
    """A function from the bytes in etcd to the canonical bytes of the object. It raises ValueError if it can't."""

    # not the model itself: it keeps this function, and that would be a reference cycle
    own, versions, kind = model.settled, model.versions, model.kind

    def canonicalise(value: bytes) -> bytes:
        if own is not None and own.take(value):
            return value
        raw = _parsed(value)
        version = versions.get(GroupVersion.parse(str(raw.get("apiVersion"))))
        if version is None or raw.get("kind") != kind:
            raise ValueError(f'the definition does not know "{raw.get("kind")}" of version "{raw.get("apiVersion")}"')
        return encode_stored(read_stored(version, raw), kind, version.api_version, version.type)

    return canonicalise


def _parsed(value: bytes) -> JsonObject:
    """The JSON form of a stored value, which is JSON or CBOR. Raises ValueError."""
    raw: Any
    if value.startswith(_CBOR):
        from gateway.encodings.cbor import decode  # rare: not this server's form

        raw = decode(value, trusted=True)
    else:
        raw = loads(value)
    if not isinstance(raw, dict):
        raise ValueError("the stored value is not a JSON object")
    return raw


def read_stored(version: Version, raw: JsonObject) -> JsonObject:
    """The object of a stored JSON value: pruned, defaulted, without invalid metadata. Raises ValueError."""
    try:
        obj = version.decode(raw, DecodeReport(trusted=True))
    except DecodeError:
        try:
            sound = {**_sound(version, version.type, raw), "apiVersion": raw.get("apiVersion"), "kind": raw.get("kind")}
            obj = version.decode(sound, DecodeReport(trusted=True))
        except DecodeError as error:
            raise ValueError(str(error)) from error
    meta = obj.setdefault("metadata", {})
    if not _ESCAPED.isdisjoint(meta.get("uid", "")):
        raise ValueError("the uid is none that a server made")
    meta.setdefault("generation", 1)
    (version.default_stored or version.default)(obj)
    return obj


def _sound(version: Version, type_: Type, value: Any) -> Any:
    """A value without invalid kind, apiVersion and metadata, of the object and of the objects embedded in it."""
    if isinstance(value, list) and type_.kind is TypeKind.LIST:
        return [_sound(version, type_.element(), item) for item in value]
    if not isinstance(value, dict) or type_.kind is not TypeKind.STRUCT or not type_.structural:
        return value
    found: JsonObject = {}
    for name, member in value.items():
        if type_.embedded and name == "metadata":
            if isinstance(member, dict):
                found[name] = _sound_metadata(version, member)
        elif not type_.embedded or name not in ("apiVersion", "kind") or isinstance(member, str):
            field = type_.fields.get(name)
            below = type_.elem if field is None else field.type
            found[name] = member if below is None else _sound(version, below, member)
    return found


def _sound_metadata(version: Version, metadata: JsonObject) -> JsonObject:
    """Metadata without the members that can't be decoded."""
    found: JsonObject = {}
    for name, value in metadata.items():
        try:
            version.decode({"metadata": {name: value}}, DecodeReport(trusted=True))
        except DecodeError:
            continue
        found[name] = value
    return found
