"""JSON merge patch, RFC 7396."""

from __future__ import annotations

import operator
from typing import Any

from gateway.http.status import bad_request
from gateway.jsontypes import JsonObject
from gateway.patches import document as documents
from gateway.patches.member_order import merged
from gateway.schema.body import parse_body
from gateway.schema.errors import DecodeError, TooMany
from gateway.schema.types import Type

_PREFIX = "error decoding patch: "


def parse(body: bytes, strict: bool) -> tuple[Any, list[str]]:
    """Returns the value of a patch document, and if `strict` its duplicate fields. Raises StatusError 400."""
    if not strict:
        return _lax(body), []
    value, duplicates = documents.parse(body, dict, "map[string]interface {}", _PREFIX)
    if value is None:
        raise bad_request("Invalid JSON Patch")
    return value, duplicates


def apply(document: JsonObject, patch: Any, type_: Type) -> Any:
    """Returns `document` merged with `patch`; the result shares unchanged parts with `document`.

    A patch that is not an object replaces the document. Elements of arrays that are null stay.
    """
    return _merge(document, patch) if isinstance(patch, dict) else _pruned(patch)


def shown(document: JsonObject, patch: Any, type_: Type) -> Any:
    """As `apply`, with members in the order of error messages. `parse_exactly` may have read the patch."""
    return merged(apply(document, patch, type_), document, type_)


def repeated(document: JsonObject, patch: Any, type_: Type) -> list[str]:
    """Duplicate-field errors about the patched object: none, because merging leaves one member of each name."""
    return []


def _lax(body: bytes) -> Any:
    try:
        value, _ = parse_body(body)
    except TooMany as error:
        raise bad_request(f"{_PREFIX}{error}") from None
    except DecodeError:
        raise bad_request("Invalid JSON Patch") from None
    if not isinstance(value, dict | list):
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
    """`value` without the members of objects that are null, at any depth. A value without any is shared, not copied."""
    if isinstance(value, dict):
        made: Any = {key: _pruned(member) for key, member in value.items() if member is not None}
        same = len(made) == len(value) and all(made[key] is member for key, member in value.items())
    elif isinstance(value, list):
        made = list(map(_pruned, value))
        same = all(map(operator.is_, made, value))
    else:
        return value
    return value if same else made
