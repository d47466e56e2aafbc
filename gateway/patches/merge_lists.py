"""Lists in strategic merge patches: merging by key or as sets, and the order of the result.

Order (KEP "preserve order in strategic merge patch"): items that the patch names have the patch's order. Other items
have the order of the live list. The two are interleaved by their places in the live list.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gateway.jsontypes import JsonObject, dumps_sorted
from gateway.patches.directives import (
    DIRECTIVE,
    SET_ELEMENT_ORDER,
    MergeError,
    bad_argument,
    no_merge_key,
    unknown_directive,
)
from gateway.schema.types import Field, Type, TypeKind
from gateway.validation.go_print import go_print, go_type

MergeMap = Callable[[JsonObject, JsonObject, Type | None], JsonObject]


def element_type(field: Field) -> Type | None:
    """The type of a list field's elements. Raises MergeError if the field is not a list, or a list of lists."""
    type_ = field.type
    if type_.kind is not TypeKind.LIST:
        if field.pointer:
            return type_
        raise MergeError("expected slice or array type, but got: struct")
    if type_.elem is not None and type_.elem.kind is TypeKind.LIST:
        raise MergeError("unexpected slice of slice")
    return type_.elem


def merge(
    original: list[Any], patch: list[Any], merge_key: str, element: Type | None, merge_map: MergeMap
) -> list[Any]:
    """Merges two lists whose patch strategy is `merge`: objects by `merge_key`, scalars as sets. Raises MergeError."""
    if not original and not patch:
        return original
    if not _are_maps(original, patch):
        items = list({_hashable(item): item for item in (*original, *patch)}.values())
        return in_order(items, patch, original, "")
    if not merge_key:
        kind = "struct" if element is None or element.kind is TypeKind.STRUCT else element.kind.value
        raise MergeError(f"cannot merge lists without merge key for {kind}")
    original, patch = _without_special(original, patch, merge_key)
    items = list(original)
    places: dict[Any, int] = {}
    for i, item in enumerate(items):
        if merge_key in item:
            places.setdefault(_alike(item[merge_key]), i)
    for change in patch:
        if merge_key not in change:
            raise no_merge_key(change, merge_key)
        value = _alike(change[merge_key])
        place = places.get(value, -1)
        if place < 0:
            places[value] = len(items)
            items.append(change)
        else:
            items[place] = merge_map(items[place], change, element)
    return in_order(items, patch, original, merge_key)


def delete(original: list[Any], unwanted: list[Any], field: Field, merge_map: MergeMap) -> list[Any]:
    """Carries out `$deleteFromPrimitiveList`: `original` without the `unwanted` scalars. Raises MergeError."""
    if not original and not unwanted:
        return original
    if _are_maps(original, unwanted):
        return merge(original, unwanted, field.patch_merge_key, field.type.elem, merge_map)
    gone = {_hashable(item) for item in unwanted}
    return [item for item in original if _hashable(item) not in gone]


def require_elements(original: list[Any] | None, patch: list[Any] | None) -> None:
    """Raises MergeError unless there are elements in either list, all of one type."""
    if not original and not patch:
        raise MergeError("no elements in any of the given slices")
    _are_maps(original or [], patch or [])


def check_order(patch: list[Any], order: list[Any], merge_key: str) -> None:
    """Raises MergeError unless `order` has all items of the patch, in the same sequence."""
    if not order or not patch:
        return
    if merge_key:
        for item in patch:
            if not isinstance(item, dict):
                raise bad_argument({}, item)
    items = [item for item in patch if not (isinstance(item, dict) and DIRECTIVE in item)]
    at = 0
    for place in order:
        if at == len(items):
            return
        if _same(_key(items[at], merge_key), _key(place, merge_key)):
            at += 1
    if at < len(items):
        quoted = f"{go_print(patch)}\n doesn't match {SET_ELEMENT_ORDER} list:\n{go_print(order)}"
        raise MergeError(f"The order in patch list:\n{quoted}\n")


def require_maps(items: list[Any], order: list[Any], merge_key: str) -> None:
    """Raises MergeError if the search for one of `items` in `order` meets an element that is not a map.

    kube-apiserver searches `order` from its beginning for each item, and fails at the first such element.
    """
    end = next((i for i, place in enumerate(order) if not isinstance(place, dict)), None)
    if not merge_key or end is None:
        return
    before = {_hashable(place[merge_key]) for place in order[:end] if merge_key in place}
    if any(_hashable(_key(item, merge_key)) not in before for item in items):
        raise MergeError(f"value for key {end} is not a map")


def in_order(items: list[Any], order: list[Any], live: list[Any], merge_key: str) -> list[Any]:
    """Sorts `items`: those that are in `order` come in that order, the others are interleaved as in the `live` list."""
    ranks, live_ranks = _ranks(order, merge_key), _ranks(live, merge_key)
    keyed = [(_hashable(_key(item, merge_key)), item) for item in items]
    named = sorted((pair for pair in keyed if pair[0] in ranks), key=lambda pair: ranks[pair[0]])
    others = sorted((pair for pair in keyed if pair[0] not in ranks), key=lambda pair: live_ranks.get(pair[0], -1))
    result: list[Any] = []
    at = 0
    for key, item in named:
        rank = live_ranks.get(key, -1)
        while at < len(others) and 0 <= live_ranks.get(others[at][0], -1) < rank:
            result.append(others[at][1])
            at += 1
        result.append(item)
    return result + [item for _, item in others[at:]]


def _ranks(items: list[Any], merge_key: str) -> dict[Any, int]:
    ranks: dict[Any, int] = {}
    for i, item in enumerate(items):
        ranks.setdefault(_hashable(_key(item, merge_key)), i)
    return ranks


def _key(item: Any, merge_key: str) -> Any:
    if not merge_key:
        return item
    if not isinstance(item, dict):
        raise bad_argument({}, item)
    if merge_key not in item:
        raise no_merge_key(item, merge_key)
    return item[merge_key]


def _hashable(value: Any) -> Any:
    """A dict key that is the same for equal scalars of one type; 1, 1.0 and true have different keys."""
    return (type(value), value) if not isinstance(value, dict | list) else (type(value), id(value))


def _same(left: Any, right: Any) -> bool:
    return type(left) is type(right) and bool(left == right)


def _alike(value: Any) -> Any:
    """As `_hashable`, but equal lists and equal objects also have the same key."""
    return (type(value), dumps_sorted(value)) if isinstance(value, dict | list) else _hashable(value)


def _are_maps(original: list[Any], patch: list[Any]) -> bool:
    """Whether the elements are maps. Raises MergeError if they are lists or of different types."""
    types = {go_type(item) for items in (original, patch) for item in items}
    first = (original or patch)[0]
    if isinstance(first, list):
        raise MergeError("lists of lists are not supported", 422)
    if len(types) > 1:
        raise MergeError(f"list element types are not identical: {go_print([original, patch])}")
    return isinstance(first, dict)


def _without_special(original: list[Any], patch: list[Any], merge_key: str) -> tuple[list[Any], list[Any]]:
    """Carries out the `$patch` elements of a list of maps. Returns the original and the patch that remain to be merged.

    Raises MergeError for a directive that lists do not have.
    """
    plain, replace = [], False
    gone: list[Any] = []
    for change in patch:
        if DIRECTIVE not in change:
            plain.append(change)
            continue
        match change[DIRECTIVE]:
            case "delete":
                if merge_key not in change:
                    raise no_merge_key(change, merge_key)
                gone.append(change[merge_key])
            case "replace":
                replace = True
            case "merge":
                raise MergeError("merging lists cannot yet be specified in the patch")
            case other:
                raise unknown_directive(other, change)
    if gone:
        keys = set(map(_alike, gone))
        original = [item for item in original if merge_key not in item or _alike(item[merge_key]) not in keys]
    return (plain, []) if replace else (original, plain)
