"""Checks the kind and apiVersion of a patch's result."""

from __future__ import annotations

from typing import Any

from gateway.http.status import internal_error
from gateway.jsontypes import JsonObject, dumps_sorted, go_escaped
from gateway.kinds.identity import GroupVersion
from gateway.kinds.model import Version
from gateway.kinds.resource import Resource
from gateway.kinds.scheme import unregistered
from gateway.kinds.unserved_versions import reads_unserved
from gateway.schema.decode import DecodeError
from gateway.schema.refusals import json_kind
from gateway.schema.types import Type
from gateway.writing.body import META_STRUCT, NO_API_VERSION, version_and_kind
from gateway.writing.other_kinds import unfit


def check_type_meta(result: Any, resource: Resource) -> None:
    """Raises DecodeError if the kind or apiVersion of a patch's result does not allow to decode it for the resource.

    A custom object of another kind or version passes here; validation refuses it.
    """
    if result is not None and not isinstance(result, dict):
        problem = f"json: cannot unmarshal {json_kind(result)} into Go value of type {META_STRUCT}"
        raise DecodeError(f"couldn't get version/kind; json parse error: {problem}")
    if result is None:
        if resource.custom:
            raise DecodeError("Object 'Kind' is missing in 'null'")
        return
    if _is_as_asked(result, resource):
        return
    version, kind = _version_and_kind(result)
    if version.count("/") > 1:
        raise DecodeError(f"unexpected GroupVersion string: {version}")
    if resource.custom:
        _check_custom(result, version, kind)
        return
    version, kind = version or resource.api_version, kind or resource.kind
    if kind != resource.kind:
        raise DecodeError(unfit(result, version, kind, resource.api_version, resource.kind))
    if resource.is_internal(version) or named_version(result, resource) is not None:
        return
    if version != resource.api_version and not reads_unserved(kind, version):  # Go decodes those, and converts them
        raise DecodeError(unregistered(kind, version))


def named_version(result: Any, resource: Resource) -> Version | None:
    """The version that a patch's result names, if it is another than the request's: the result is decoded in it, then
    converted. None otherwise, and for custom objects, where validation refuses another version.
    """
    if not isinstance(result, dict) or resource.custom or resource.foreign_kind or _is_as_asked(result, resource):
        return None
    try:
        version, kind = _version_and_kind(result)
    except DecodeError:  # `check_type_meta` raises it, too
        return None
    if version in ("", resource.api_version) or kind not in ("", resource.kind):
        return None
    return resource.model.versions.get(GroupVersion.parse(version))


def read_as(result: Any, resource: Resource) -> Type | None:
    """The type that decodes a patch's result of a built-in kind; None if `check_type_meta` refuses it."""
    if not isinstance(result, dict) or resource.custom:
        return None
    try:
        check_type_meta(result, resource)
    except DecodeError:
        return None
    other = named_version(result, resource)
    return resource.type if other is None else other.type


def _is_as_asked(result: JsonObject, resource: Resource) -> bool:
    """Whether a result has exactly the resource's kind and apiVersion, as nearly all have, and no unknown members: the
    names of these could differ from "kind" and "apiVersion" in case only.
    """
    return (
        result.get("apiVersion") == resource.api_version
        and result.get("kind") == resource.kind
        and result.keys() <= resource.type.fields.keys()
    )


def _version_and_kind(result: JsonObject) -> tuple[str, str]:
    """The apiVersion and kind. Of member names that differ only in case the last one counts, in sorted order, because
    Go encodes a patched object with sorted names.
    """
    return version_and_kind({key: result[key] for key in sorted(result)})


def _check_custom(result: JsonObject, version: str, kind: str) -> None:
    """Raises DecodeError for a missing kind, StatusError 500 for a missing apiVersion, as kube-apiserver does."""
    if not kind:
        text = go_escaped(dumps_sorted(result).decode())
        raise DecodeError(f"Object 'Kind' is missing in '{text}'")
    if "apiVersion" in result and result["apiVersion"] is None:
        raise DecodeError(NO_API_VERSION)
    if not version:
        raise internal_error("Object 'apiVersion' is missing in 'object has no apiVersion field'")
