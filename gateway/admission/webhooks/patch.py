"""Applies the JSON patch of a mutating webhook; the result is decoded like a client's object, and defaulted."""

from __future__ import annotations

import asyncio
from typing import Any

from gateway.admission.custom_objects import set_defaults
from gateway.admission.webhooks.answer import WebhookVerdict
from gateway.admission.webhooks.configuration import Hook
from gateway.admission.webhooks.review import type_in
from gateway.admission.webhooks.webhook_call import CallFailed
from gateway.http.status import StatusError, internal_error, request_too_large
from gateway.jsontypes import JsonObject, dumps_sorted, loads
from gateway.kinds.identity import GroupVersion, GroupVersionKind
from gateway.kinds.resource import Resource
from gateway.kinds.scheme import internal_package, unregistered
from gateway.patches.document import go_kind
from gateway.patches.json_patch import MAX_OPERATIONS, PatchFailed, applied
from gateway.schema.body import parse_body
from gateway.schema.catalog import type_for
from gateway.schema.decode import DecodeError, DecodeReport, decode
from gateway.schema.outside import check_members

_BIG = 64 * 1024  # bytes of patch and object together, from which on a thread applies the patch


def operations(hook: Hook, found: WebhookVerdict) -> list[JsonObject]:
    """The operations of a patch, without a look at its type. Raises CallFailed if it cannot be decoded."""
    if not found.patch:
        return []
    try:
        check_members(found.patch)
        document, _ = parse_body(found.patch)
        if document is not None and not isinstance(document, list):
            raise DecodeError(_unreadable(document, "jsonpatch.Patch"))
        wrong = [each for each in document or () if each is not None and not isinstance(each, dict)]
        if wrong:
            raise DecodeError(_unreadable(wrong[0], "jsonpatch.Operation"))
    except DecodeError as error:
        raise CallFailed(hook, f"received undecodable patch in webhook response: {error}") from None
    return document or []


def _unreadable(value: Any, wanted: str) -> str:
    return f"json: cannot unmarshal {go_kind(value)} into Go value of type {wanted}"


async def patched(
    document: bytes,
    changes: list[JsonObject],
    resource: Resource,
    kind: GroupVersionKind,
    size: int,
    *,
    new: bool,
    converted: bool,
) -> JsonObject:
    """Applies a JSON patch to an object of a `kind`, given as JSON, and returns the result decoded and defaulted.

    `size` is that of the patch in bytes. `new` says whether the object is being created, `converted` whether a
    conversion webhook will convert the result. Raises StatusError 500 for a patch that does not apply or whose result
    is not an object of the kind, 413 for too many operations.
    """
    if len(changes) > MAX_OPERATIONS:
        count = f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(changes)}"
        raise request_too_large(count)
    if len(document) + size < _BIG:
        return _patched(document, changes, resource, kind, new, converted)
    return await asyncio.to_thread(_patched, document, changes, resource, kind, new, converted)


def _patched(
    document: bytes, changes: list[JsonObject], resource: Resource, kind: GroupVersionKind, new: bool, converted: bool
) -> JsonObject:
    try:
        result = applied(loads(document), changes)
    except PatchFailed as error:
        raise internal_error(str(error)) from None
    if not isinstance(result, dict):
        raise internal_error(_unreadable(result, "struct { APIVersion string; Kind string }"))
    for key in ("apiVersion", "kind"):
        if result.get(key) is not None and not isinstance(result[key], str):
            said = f"json: cannot unmarshal {go_kind(result[key])} into Go struct field .{key} of type string"
            raise internal_error(f"couldn't get version/kind; json parse error: {said}")
    version = None if resource.foreign_kind else resource.model.versions.get(kind.group_version)
    if version is not None and version.openapi is not None:
        _check_version(result, resource, kind)
        # a custom object keeps unknown fields until it is stored
        return set_defaults(result, version, new=new, converted=converted)
    _check_kind(result, resource, kind)
    type_ = type_in(resource, kind) or type_for(*kind)
    try:
        obj = decode(type_, result, DecodeReport())
        if version is not None and version.read_internal is not None:
            version.read_internal(obj)
    except DecodeError as error:
        raise internal_error(str(error)) from None
    obj["kind"], obj["apiVersion"] = result.get("kind") or kind.kind, result.get("apiVersion") or kind.api_version
    if version is not None:
        version.default(obj)
    else:
        resource.default(obj)
    return obj


def _check_version(result: JsonObject, resource: Resource, kind: GroupVersionKind) -> None:
    """Raises StatusError 500 for a custom object without a kind, or with a version that its kind does not have.

    Validation checks which kind it is.
    """
    if not result.get("kind"):
        shown = dumps_sorted(result).decode()
        raise internal_error(f"Object 'Kind' is missing in '{shown}'")
    version = GroupVersion.parse(result.get("apiVersion") or "")
    if version not in resource.model.versions:
        what = f"{version.group}/{version.version}, Kind={result['kind']} is unstructured"
        raise StatusError(500, "", f'{what} and is not suitable for converting to "{resource.api_version}"')


def _check_kind(result: JsonObject, resource: Resource, kind: GroupVersionKind) -> None:
    """Raises StatusError 500 if the patch has changed the object's kind or apiVersion."""
    name, version = (str(result.get(key) or "") for key in ("kind", "apiVersion"))
    if (name or kind.kind, version or kind.api_version) == (kind.kind, kind.api_version):
        return
    group, _, number = version.rpartition("/")
    try:
        type_for(group, number, name)
    except KeyError:
        raise internal_error(unregistered(name, version)) from None
    internal = f"{internal_package(resource.kind_group)}.{resource.kind}"
    raise StatusError(500, "", f"converting ({number}.{name}) to ({internal}): unknown conversion")
