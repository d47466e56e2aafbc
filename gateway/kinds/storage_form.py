"""The form in which objects are stored: one canonical JSON in the storage version, whoever wrote it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from gateway.jsontypes import JsonObject, loads
from gateway.schema.types import Type

Convert = Callable[[JsonObject], JsonObject]

_ESCAPED = frozenset('"\\')  # where the uid ends is found without parsing

# Versions that kube-apiserver 1.36 stores in but does not serve by default; their fields are those of the served one.
_SAME_AS = {
    ("admissionregistration.k8s.io/v1beta1", kind): "admissionregistration.k8s.io/v1"
    for kind in ("MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding")
}


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

    That is JSON, or kube-apiserver's protobuf form. It raises ValueError for a value that can't be read.
    """

    def canonicalise(value: bytes) -> bytes:
        from gateway.defaults import apply_defaults
        from gateway.schema.decode import DecodeError, DecodeReport, decode
        from gateway.schema.empty_lists import null_empty_lists
        from gateway.schema.encode import encode_stored

        type_, version, raw = _parsed(value, kind, storage_version)
        try:
            obj = decode(type_, raw, DecodeReport())
        except DecodeError as error:
            raise ValueError(str(error)) from error
        if not _ESCAPED.isdisjoint(obj.get("metadata", {}).get("uid", "")):
            raise ValueError("the uid is none that a server made")
        obj["kind"], obj["apiVersion"] = kind, version
        null_empty_lists(type_, obj)
        apply_defaults(version, kind, obj)
        convert = converter(kind, version, storage_version)
        return encode_stored(obj if convert is None else convert(obj), kind, storage_version)

    return canonicalise


def _parsed(value: bytes, kind: str, storage_version: str) -> tuple[Type, str, JsonObject]:
    """The type, apiVersion and JSON form of a stored value; raises ValueError."""
    from gateway.schema.catalog import type_for
    from gateway.schema.protobuf import MAGIC, read_envelope, read_message

    binary = value.startswith(MAGIC)
    if binary:
        envelope = read_envelope(value)
        version, stored_kind = envelope.api_version, envelope.kind
    else:
        raw: JsonObject = loads(value)
        if not isinstance(raw, dict):
            raise ValueError("the stored value is no JSON object")
        if raw.get("apiVersion") == "apiextensions.k8s.io/v1beta1" and raw.get("kind") == "CustomResourceDefinition":
            from gateway.kinds.conversions.definitions import definition_to_v1  # few definitions are others'

            raw = definition_to_v1(raw)
        version, stored_kind = raw.get("apiVersion", storage_version), raw.get("kind", kind)
    version = _SAME_AS.get((str(version), stored_kind), str(version))
    group, _, number = version.rpartition("/")
    try:
        if stored_kind != kind:
            raise KeyError(stored_kind)
        type_ = type_for(group, number, kind)
    except KeyError:
        known = f'"{stored_kind}" is registered for version "{version}" in scheme "pkg/runtime/scheme.go:111"'
        raise ValueError(f"no kind {known}") from None
    return type_, version, read_message(type_, envelope.raw) if binary else raw
