"""The canonical form of stored objects: JSON in the storage version, whichever server wrote them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from gateway.jsontypes import JsonObject, loads
from gateway.kinds.identity import GroupVersion, GroupVersionKind
from gateway.release.early_versions import read_as
from gateway.schema.decode import DecodeError, DecodeReport
from gateway.schema.empty_lists import null_empty_lists
from gateway.schema.encode import encode_stored
from gateway.schema.protobuf import MAGIC, read_envelope, read_message
from gateway.schema.types import Type

_ESCAPED = frozenset('"\\')  # no uid has one of these, since the end of the uid is found without parsing
_DEFINITION = GroupVersionKind("apiextensions.k8s.io", "v1beta1", "CustomResourceDefinition")


class StoredVersion(Protocol):
    """The members of `gateway.kinds.model.Version` that reading a stored object needs."""

    @property
    def gvk(self) -> GroupVersionKind: ...

    @property
    def api_version(self) -> str: ...

    @property
    def type(self) -> Type: ...

    @property
    def default(self) -> Callable[[JsonObject], None]: ...

    def decode(self, value: JsonObject, report: DecodeReport, /) -> JsonObject: ...


class StoredKind(Protocol):
    """The members of `gateway.kinds.model.Model` that reading a stored object needs."""

    @property
    def kind(self) -> str: ...

    @property
    def storage_version(self) -> GroupVersion: ...

    @property
    def versions(self) -> Mapping[GroupVersion, StoredVersion]: ...

    @property
    def convert(self) -> Callable[[JsonObject, GroupVersion, GroupVersion], JsonObject]: ...

    @property
    def on_read(self) -> Callable[[JsonObject], None]: ...


def canonicaliser(model: StoredKind) -> Callable[[bytes], bytes]:
    """A function that turns a stored value, by any writer and in any readable version, into the canonical one.

    The input is JSON or kube-apiserver's protobuf form. It raises ValueError for a value that can't be read.
    """

    def canonicalise(value: bytes) -> bytes:
        version, raw, stored_in = _parsed(model, value)
        try:
            obj = version.decode(raw, DecodeReport(trusted=True))
        except DecodeError as error:
            raise ValueError(str(error)) from error
        if not _ESCAPED.isdisjoint(obj.get("metadata", {}).get("uid", "")):
            raise ValueError("the uid is none that a server made")
        obj["kind"], obj["apiVersion"] = model.kind, version.api_version
        null_empty_lists(version.type, obj)
        if stored_in != version.api_version:
            from gateway.defaults.old_versions import fill_as_stored  # rare: not this server's form

            fill_as_stored(obj, stored_in, model.kind)
        version.default(obj)
        stored = model.convert(obj, version.gvk.group_version, model.storage_version)
        model.on_read(stored)
        return encode_stored(stored, model.kind, model.storage_version.api_version)

    return canonicalise


def _parsed(model: StoredKind, value: bytes) -> tuple[StoredVersion, JsonObject, str]:
    """The version that reads a stored value, its JSON form, and the apiVersion in it; raises ValueError."""
    if value.startswith(MAGIC):
        envelope = read_envelope(value)
        version = _version(model, envelope.api_version, envelope.kind)
        return version, read_message(version.type, envelope.raw, trusted=True), envelope.api_version
    raw: JsonObject = loads(value)
    if not isinstance(raw, dict):
        raise ValueError("the stored value is not a JSON object")
    if raw.get("apiVersion") == _DEFINITION.api_version and raw.get("kind") == _DEFINITION.kind:
        from gateway.kinds.conversions.definitions import definition_to_v1  # rare: not this server's form

        raw = definition_to_v1(raw)
    stored = str(raw.get("apiVersion", model.storage_version.api_version))
    return _version(model, stored, str(raw.get("kind", model.kind))), raw, stored


def _version(model: StoredKind, api_version: str, kind: str) -> StoredVersion:
    """The version of a stored value by its apiVersion and kind. Raises ValueError if it is none of the model's."""
    named = GroupVersion.parse(api_version)
    found = model.versions.get(named)
    if found is None:
        found = model.versions.get(GroupVersion(named.group, read_as(*named, kind)))
    if found is None or kind != model.kind:
        known = f'"{kind}" is registered for version "{api_version}" in scheme "pkg/runtime/scheme.go:111"'
        raise ValueError(f"no kind {known}")
    return found
