"""JSON merge patch, RFC 7396."""

from __future__ import annotations

from typing import Any

from gateway.http.status import StatusError, bad_request
from gateway.jsontypes import JsonObject
from gateway.patches import document as documents
from gateway.patches.member_order import merged
from gateway.schema.types import Type


def parse(body: bytes, strict: bool) -> tuple[Any, list[str]]:
    """Reads a patch document: its value, and the strict errors if `strict`; raises StatusError 400."""
    if not strict:
        return _lax(body), []
    value, duplicates = documents.parse(body, dict, "map[string]interface {}", "error decoding patch: ")
    if value is None:
        raise bad_request("Invalid JSON Patch")
    return value, duplicates


def apply(document: JsonObject, patch: Any, type_: Type) -> Any:
    """Returns `document` merged with `patch`, sharing what the patch left alone.

    A patch that is no object replaces the document; within arrays that a patch brings, nulls stay.
    """
    return _merge(document, patch) if isinstance(patch, dict) else _pruned(patch)


def shown(document: JsonObject, patch: Any, type_: Type) -> Any:
    """What `apply` gives, with members in the order in which refusals show them. The patch may be an exact one."""
    return merged(apply(document, patch, type_), document, type_)


def repeated(document: JsonObject, patch: Any, type_: Type) -> list[str]:
    """Members that come twice in what was patched: none, as those of the patch are merged one by one."""
    return []


def _lax(body: bytes) -> Any:
    try:
        value, _ = documents.parse(body, dict | list, "")
    except StatusError:
        raise bad_request("Invalid JSON Patch") from None
    if value is None:
        raise bad_request("Invalid JSON Patch")
    return value


def _merge(document: JsonObject, patch: JsonObject) -> JsonObject:
    outcome = dict(document)
    for key, value in patch.items():
        if value is None:
            outcome.pop(key, None)
            continue
        current = outcome.get(key)
        if isinstance(current, dict) and isinstance(value, dict):
            outcome[key] = _merge(current, value)
        elif isinstance(current, dict):
            outcome[key] = value
        else:
            outcome[key] = _pruned(value)
    return outcome


def _pruned(value: Any) -> Any:
    """`value` without the members that are null."""
    if isinstance(value, dict):
        return {key: _pruned(member) for key, member in value.items() if member is not None}
    if isinstance(value, list):
        return [_pruned(member) for member in value]
    return value
