"""What a mutating webhook makes of an object: its JSON patch, applied, read like a client's object, and defaulted."""

from __future__ import annotations

import asyncio
from typing import Any

from gateway.admission.webhooks.answer import Verdict
from gateway.admission.webhooks.calling import CallFailed
from gateway.admission.webhooks.configuration import Hook
from gateway.admission.webhooks.review import type_in
from gateway.http.status import StatusError, internal_error, request_too_large
from gateway.jsontypes import JsonObject, loads
from gateway.kinds.identity import GroupVersion, GroupVersionKind
from gateway.kinds.resource import Resource
from gateway.kinds.scheme import internal_package, unregistered
from gateway.patches.document import go_kind
from gateway.patches.json_patch import MAX_OPERATIONS, PatchFailed, applied
from gateway.schema.catalog import type_for
from gateway.schema.decode import DecodeError, DecodeReport, decode, parse_body

_BIG = 64 * 1024  # bytes of patch and object together from which on a thread does it


def operations(hook: Hook, found: Verdict) -> list[JsonObject]:
    """The operations of a patch. Raises CallFailed for what is no patch."""
    if not found.patch:
        return []
    try:
        document, _ = parse_body(found.patch)
        if document is not None and not isinstance(document, list):
            raise DecodeError(_unreadable(document, "jsonpatch.Patch"))
        wrong = [each for each in document or () if each is not None and not isinstance(each, dict)]
        if wrong:
            raise DecodeError(_unreadable(wrong[0], "jsonpatch.Operation"))
    except DecodeError as error:
        raise CallFailed(hook, f"received undecodable patch in webhook response: {error}") from None
    if found.patch_type != "JSONPatch":
        raise CallFailed(hook, f"unsupported patch type {found.patch_type!r}".replace("'", '"'))
    return document or []


def _unreadable(value: Any, wanted: str) -> str:
    return f"json: cannot unmarshal {go_kind(value)} into Go value of type {wanted}"


async def patched(
    document: bytes, changes: list[JsonObject], resource: Resource, kind: GroupVersionKind, size: int
) -> JsonObject:
    """The object of a JSON `document` of one kind with a patch applied, decoded and defaulted; `size` is the patch's.

    Raises StatusError 500 for a patch that does not apply, or whose result is no object of the kind, 413 for too many
    operations.
    """
    if len(changes) > MAX_OPERATIONS:
        count = f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(changes)}"
        raise request_too_large(count)
    if len(document) + size < _BIG:
        return _patched(document, changes, resource, kind)
    return await asyncio.to_thread(_patched, document, changes, resource, kind)


def _patched(document: bytes, changes: list[JsonObject], resource: Resource, kind: GroupVersionKind) -> JsonObject:
    try:
        result = applied(loads(document), changes)
    except PatchFailed as error:
        raise internal_error(str(error)) from None
    if not isinstance(result, dict):
        raise internal_error(_unreadable(result, "struct { APIVersion string; Kind string }"))
    version = None if resource.foreign_kind else resource.model.versions.get(kind.group_version)
    if version is not None and version.openapi is not None:
        obj: JsonObject = result  # a custom object keeps what its schema does not know, until it is stored
        if not isinstance(obj.get("metadata"), dict):
            obj["metadata"] = {}
        _check_version(result, resource, kind)
    else:
        _check_kind(result, resource, kind)
        type_ = type_in(resource, kind) or type_for(*kind)
        try:
            obj = decode(type_, result, DecodeReport())
        except DecodeError as error:
            raise internal_error(str(error)) from None
    obj["kind"], obj["apiVersion"] = result.get("kind") or kind.kind, result.get("apiVersion") or kind.api_version
    if version is not None:
        version.default(obj)
    else:
        resource.default(obj)
    return obj


def _check_version(result: JsonObject, resource: Resource, kind: GroupVersionKind) -> None:
    """Raises StatusError 500 for a custom object of a version that its kind has not; validation looks at kinds."""
    version = str(result.get("apiVersion") or kind.api_version)
    if GroupVersion.parse(version) not in resource.model.versions:
        what = f"{version}, Kind={result.get('kind') or kind.kind} is unstructured"
        raise StatusError(500, "", f'{what} and is not suitable for converting to "{kind.api_version}"')


def _check_kind(result: JsonObject, resource: Resource, kind: GroupVersionKind) -> None:
    """Raises StatusError 500 for what became an object of another kind."""
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
