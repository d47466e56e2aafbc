"""Reads custom objects from storage: prunes and defaults them, and sorts their members.

An object stays in the version in which it was written. Its CRD may have changed since, so it is read by the present
schema of that version. Invalid metadata fields are dropped, as in kube-apiserver.
"""

from __future__ import annotations

from gateway.jsontypes import JsonObject, loads
from gateway.kinds.identity import GroupVersion
from gateway.kinds.model import Canonicalise, Model, Version
from gateway.schema.decode import DecodeError, DecodeReport
from gateway.schema.encode import encode_stored

_ESCAPED = frozenset('"\\')  # not allowed in a uid: other code finds the uid's end in the JSON text without parsing it


def canonicaliser(model: Model) -> Canonicalise:
    """A function from the bytes in etcd to the canonical bytes of the object. It raises ValueError if it can't."""

    # not the model itself: it keeps this function, and that would be a reference cycle
    own, versions, kind = model.settled, model.versions, model.kind

    def canonicalise(value: bytes) -> bytes:
        if own is not None and own.take(value):
            return value
        raw: JsonObject = loads(value)
        if not isinstance(raw, dict):
            raise ValueError("the stored value is no JSON object")
        version = versions.get(GroupVersion.parse(str(raw.get("apiVersion"))))
        if version is None or raw.get("kind") != kind:
            raise ValueError(f'the definition does not know "{raw.get("kind")}" of version "{raw.get("apiVersion")}"')
        return encode_stored(read_stored(version, raw), kind, version.api_version, version.type)

    return canonicalise


def read_stored(version: Version, raw: JsonObject) -> JsonObject:
    """The object of a stored JSON value: pruned, defaulted, without invalid metadata. Raises ValueError."""
    try:
        obj = version.decode(raw, DecodeReport(trusted=True))
    except DecodeError:
        try:
            obj = version.decode({**raw, "metadata": _sound(version, raw.get("metadata"))}, DecodeReport(trusted=True))
        except DecodeError as error:
            raise ValueError(str(error)) from error
    meta = obj.setdefault("metadata", {})
    if not _ESCAPED.isdisjoint(meta.get("uid", "")):
        raise ValueError("the uid is none that a server made")
    meta.setdefault("generation", 1)
    (version.default_stored or version.default)(obj)
    return obj


def _sound(version: Version, metadata: object) -> JsonObject:
    """Metadata without the members that can't be decoded."""
    found: JsonObject = {}
    for name, value in metadata.items() if isinstance(metadata, dict) else ():
        try:
            version.decode({"metadata": {name: value}}, DecodeReport(trusted=True))
        except DecodeError:
            continue
        found[name] = value
    return found
