"""The form in which custom objects are read from storage: pruned, defaulted, members in order.

An object stays in the version in which it was written. Its CRD may have changed since, so each value is read by the
present schema. Invalid metadata fields are left out, as kube-apiserver does.
"""

from __future__ import annotations

from gateway.jsontypes import JsonObject, loads
from gateway.kinds.identity import GroupVersion
from gateway.kinds.model import Canonicalise, Model, Version
from gateway.schema.decode import DecodeError, DecodeReport
from gateway.schema.encode import encode_stored

_ESCAPED = frozenset('"\\')  # where the uid ends is found without parsing


def canonicaliser(model: Model) -> Canonicalise:
    """A function that makes the canonical value of what any writer stored; it raises ValueError where it can't."""

    own, versions, kind = model.settled, model.versions, model.kind  # and not the model, which keeps what is made here

    def canonicalise(value: bytes) -> bytes:
        if own is not None and own.take(value):
            return value
        raw: JsonObject = loads(value)
        if not isinstance(raw, dict):
            raise ValueError("the stored value is no JSON object")
        version = versions.get(GroupVersion.parse(str(raw.get("apiVersion"))))
        if version is None or raw.get("kind") != kind:
            raise ValueError(f'the definition does not know "{raw.get("kind")}" of version "{raw.get("apiVersion")}"')
        return encode_stored(settled(version, raw), kind, version.api_version, version.type)

    return canonicalise


def settled(version: Version, raw: JsonObject) -> JsonObject:
    """An object of a version as it is after reading it from storage. Raises ValueError."""
    try:
        obj = version.decode(raw, DecodeReport())
    except DecodeError:
        try:
            obj = version.decode({**raw, "metadata": _sound(version, raw.get("metadata"))}, DecodeReport())
        except DecodeError as error:
            raise ValueError(str(error)) from error
    meta = obj.setdefault("metadata", {})
    if not _ESCAPED.isdisjoint(meta.get("uid", "")):
        raise ValueError("the uid is none that a server made")
    meta.setdefault("generation", 1)
    version.default(obj)
    return obj


def _sound(version: Version, metadata: object) -> JsonObject:
    """Metadata without the members that can't be read."""
    found: JsonObject = {}
    for name, value in metadata.items() if isinstance(metadata, dict) else ():
        try:
            version.decode({"metadata": {name: value}}, DecodeReport())
        except DecodeError:
            continue
        found[name] = value
    return found
