"""The form in which objects are stored: one canonical JSON in the storage version, whoever wrote it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from gateway.jsontypes import JsonObject, loads

Convert = Callable[[JsonObject], JsonObject]

_ESCAPED = frozenset('"\\')  # where the uid ends is found without parsing


def converter(kind: str, from_version: str, to_version: str) -> Convert | None:
    """Turns a kind's objects of one apiVersion into another's; None where they are the same."""
    if from_version == to_version:
        return None
    return partial(_convert, from_version, to_version, kind)


def _convert(from_version: str, to_version: str, kind: str, obj: JsonObject) -> JsonObject:
    from gateway.kinds.conversions.convert import convert

    return convert(obj, from_version, to_version, kind)


def canonicaliser(kind: str, storage_version: str) -> Callable[[bytes], bytes]:
    """A function that makes the canonical, defaulted value of what any writer stored in any served version.

    It raises ValueError for a value that can't be read.
    """

    def canonicalise(value: bytes) -> bytes:
        from gateway.defaults import apply_defaults
        from gateway.schema.catalog import type_for
        from gateway.schema.decode import DecodeError, DecodeReport, decode
        from gateway.schema.empty_lists import null_empty_lists
        from gateway.schema.encode import encode_stored

        raw: JsonObject = loads(value)
        if not isinstance(raw, dict):
            raise ValueError("the stored value is no JSON object")
        version = raw.get("apiVersion", storage_version)
        group, _, number = version.rpartition("/")
        try:
            type_ = type_for(group, number, kind)
            obj = decode(type_, raw, DecodeReport())
        except (DecodeError, KeyError) as error:
            raise ValueError(str(error)) from error
        if not _ESCAPED.isdisjoint(obj.get("metadata", {}).get("uid", "")):
            raise ValueError("the uid is none that a server made")
        obj["kind"], obj["apiVersion"] = kind, version
        null_empty_lists(type_, obj)
        apply_defaults(version, kind, obj)
        convert = converter(kind, version, storage_version)
        return encode_stored(obj if convert is None else convert(obj), kind, storage_version)

    return canonicalise
