"""Strategic merge patch: a merge patch that knows the merge keys and strategies of the schema.

The rules: Kubernetes' "strategic merge patch" notes of the API conventions. A list field with the strategy `merge` is
merged: maps by the merge key, scalars as a set. A field with `replace` is replaced. Directives in the patch change this
(`$patch`, `$retainKeys`, `$setElementOrder/x`, `$deleteFromPrimitiveList/x`). Lists are merged in
`gateway.patches.merge_lists`.
"""

from __future__ import annotations

from typing import Any

from gateway.http.status import StatusError, bad_request
from gateway.jsontypes import JsonObject
from gateway.patches import document as documents
from gateway.patches import merge_lists
from gateway.patches.directives import (
    DELETE_FROM_LIST,
    DIRECTIVE,
    RETAIN_KEYS,
    SET_ELEMENT_ORDER,
    MergeError,
    bad_argument,
    bad_format,
    field_of,
    strategy_of,
    unknown_directive,
    without_directives,
    without_nulls,
)
from gateway.schema.types import Type
from gateway.validation.go_print import go_type


def parse(body: bytes, strict: bool) -> tuple[Any, list[str]]:
    """Returns the object in a patch document, and if `strict` its duplicate fields. Raises StatusError 400."""
    value, duplicates = documents.parse(body, dict, "map[string]interface {}")
    return value or {}, duplicates if strict else []


def apply(document: JsonObject, patch: Any, type_: Type) -> JsonObject:
    """Returns `document` merged with `patch`; the result shares unchanged parts with `document`, and parts of `patch`.

    Changes `patch` in place: removes the directives and nulls that it has carried out. Raises StatusError 400, 422 or
    500, as `MergeError.code` says.
    """
    try:
        return _merge_map(document, patch, type_)
    except MergeError as error:
        if error.code == 400:
            raise bad_request(str(error)) from None
        if error.code == 422:
            message = "the server rejected our request due to an error in our request"
            raise StatusError(422, "Invalid", message, {}) from None
        raise StatusError(500, "", str(error)) from None


def _merge_map(original: JsonObject, patch: JsonObject, type_: Type | None) -> JsonObject:
    if DIRECTIVE in patch:
        match patch[DIRECTIVE]:
            case "replace":
                del patch[DIRECTIVE]
                return patch
            case "delete":
                return {}
        raise unknown_directive(patch[DIRECTIVE], patch)
    result = dict(original)
    if RETAIN_KEYS in patch:
        _retain_keys(result, patch)
    for key in [key for key in patch if key.startswith(SET_ELEMENT_ORDER)]:
        _merge_ordered(result, patch, key, type_)
    for key, value in patch.items():
        if key.startswith(DELETE_FROM_LIST):
            _delete_from_list(result, key, value, type_)
        else:
            _merge_member(result, key, value, type_)
    return result


def _merge_member(result: JsonObject, key: str, value: Any, type_: Type | None) -> None:
    if value is None:
        result.pop(key, None)
        return
    current = result.get(key)
    if isinstance(current, dict) and isinstance(value, dict):
        field = field_of(type_, key)
        result[key] = value if strategy_of(field) == "replace" else _merge_map(current, value, field.type)
    elif isinstance(current, list) and isinstance(value, list):
        result[key] = _merge_list(current, value, key, type_)
    else:
        kept, keep = without_directives(without_nulls(value))
        if keep:
            result[key] = kept
        else:
            result.pop(key, None)


def _merge_list(current: list[Any], value: list[Any], key: str, type_: Type | None) -> list[Any]:
    field = field_of(type_, key)
    element = merge_lists.element_type(field)
    if strategy_of(field) != "merge":
        return value
    return merge_lists.merge(current, value, field.patch_merge_key, element, _merge_map)


def _delete_from_list(result: JsonObject, directive: str, value: Any, type_: Type | None) -> None:
    key = _named(directive, DELETE_FROM_LIST, "invalid patch format of primitive list")
    if value is None:
        result.pop(key, None)
        return
    current = result.get(key)
    if not isinstance(current, list) or not isinstance(value, list):
        if isinstance(current, dict) and isinstance(value, dict):
            _merge_member(result, key, value, type_)
        elif current is not None and go_type(current) == go_type(value):
            result[key] = value
        return
    field = field_of(type_, key)
    merge_lists.element_type(field)
    result[key] = merge_lists.delete(current, value, field, _merge_map)


def _named(directive: str, prefix: str, message: str) -> str:
    name, slash, key = directive.partition("/")
    if not slash or name != prefix:
        raise bad_format(message)
    return key


def _retain_keys(result: JsonObject, patch: JsonObject) -> None:
    """Carries out `$retainKeys`: removes all members of `result` that it does not name.

    Raises MergeError if the patch sets a member that `$retainKeys` does not name.
    """
    names = patch.pop(RETAIN_KEYS)
    if not isinstance(names, list):
        raise bad_format("invalid patch format of retainKeys")
    retained = {name for name in names if isinstance(name, str)}
    for key, value in patch.items():
        if value is not None and not key.startswith((DELETE_FROM_LIST, SET_ELEMENT_ORDER)) and key not in retained:
            raise bad_format("invalid patch format of retainKeys")
    for key in [key for key in result if key not in retained]:
        del result[key]


def _merge_ordered(result: JsonObject, patch: JsonObject, directive: str, type_: Type | None) -> None:
    """Merges and orders the list that a `$setElementOrder/NAME` names; removes both from `patch`."""
    order = patch.pop(directive)
    if not isinstance(order, list):
        raise bad_argument([], order)
    key = _named(directive, SET_ELEMENT_ORDER, "invalid patch format of setElementOrder list")
    original, change = result.get(key), patch.get(key)
    for present, value in ((key in result, original), (key in patch, change)):
        if present and not isinstance(value, list):
            raise bad_argument([], value)
    field = field_of(type_, key)
    element = merge_lists.element_type(field)
    merge_key = field.patch_merge_key
    merge_lists.check_order(change or [], order, merge_key)
    if original is None and change is None:
        return
    merge_lists.require_elements(original, change)
    if change is None:
        items: list[Any] = list(original or [])
    elif original is None:
        items = without_directives(change)[0]
    elif strategy_of(field) == "merge":
        items = merge_lists.merge(original, change, merge_key, element, _merge_map)
    else:
        items = change
    merge_lists.require_maps(items, order, merge_key)
    result[key] = merge_lists.in_order(items, order, original or [], merge_key)
    patch.pop(key, None)
