"""JSON merge patch: the laws of RFC 7396."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.http.status import StatusError
from gateway.jsontypes import MOST_COLLECTIONS, MOST_NAMES
from gateway.patches import merge_patch
from gateway.schema.catalog import type_for

CONFIG_MAP = type_for("", "v1", "ConfigMap")

SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.text("ab", max_size=2)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcd"), inner, max_size=3)
)
OBJECTS = st.dictionaries(st.sampled_from("abcd"), VALUES, max_size=4)


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_nulls(member) for key, member in value.items() if member is not None}
    return value


def without_nulls_in_lists(value: Any) -> Any:
    """Nulls below a list mean nothing to RFC 7396; servers differ in when they drop them."""
    if isinstance(value, list):
        return [without_nulls(without_nulls_in_lists(item)) for item in value if item is not None]
    if isinstance(value, dict):
        return {key: without_nulls_in_lists(member) for key, member in value.items()}
    return value


def difference(source: dict[str, Any], target: dict[str, Any]) -> dict[str, Any]:
    patch: dict[str, Any] = {key: None for key in source if key not in target}
    for key, value in target.items():
        if isinstance(value, dict) and isinstance(source.get(key), dict):
            patch[key] = difference(source[key], value)
        elif key not in source or source[key] != value or type(source[key]) is not type(value):
            patch[key] = value
    return patch


@given(OBJECTS, OBJECTS.map(without_nulls_in_lists))
def test_inputs_are_never_changed_and_applying_twice_is_applying_once(document: Any, patch: Any) -> None:
    before = copy.deepcopy((document, patch))
    once = merge_patch.apply(document, patch, CONFIG_MAP)
    assert merge_patch.apply(once, patch, CONFIG_MAP) == once
    assert (document, patch) == before


@given(OBJECTS.map(without_nulls), OBJECTS.map(without_nulls))
def test_the_patch_made_of_a_difference_leads_to_the_target(source: Any, target: Any) -> None:
    flat = lists_without_objects
    source, target = flat(source), flat(target)
    assert merge_patch.apply(source, difference(source, target), CONFIG_MAP) == target


def lists_without_objects(value: Any) -> Any:
    """Objects inside arrays lose their null members on the way; leave them out."""
    if isinstance(value, dict):
        return {key: lists_without_objects(member) for key, member in value.items()}
    return [item for item in value if not isinstance(item, dict | list)] if isinstance(value, list) else value


@pytest.mark.parametrize(
    ("document", "patch", "result"),
    [
        ({"a": {"b": 1}}, {"a": {"c": {"d": None, "e": 1}}}, {"a": {"b": 1, "c": {"e": 1}}}),
        ({"a": [1, 2]}, {"a": [3, None]}, {"a": [3, None]}),
        ({"a": 1}, {"a": {"b": None}}, {"a": {}}),
        ({"a": {"b": 1}}, {"a": [{"c": None}]}, {"a": [{"c": None}]}),
        ({"a": 1}, [{"c": None}], [{}]),
    ],
)
def test_merge(document: Any, patch: Any, result: Any) -> None:
    assert merge_patch.apply(document, patch, CONFIG_MAP) == result


@pytest.mark.parametrize(
    ("body", "strict", "message"),
    [
        (b"", True, "error decoding patch: unexpected end of JSON input"),
        (
            b"[]",
            True,
            "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}",
        ),
        (
            b'{"a": -1e999}',
            True,
            "error decoding patch: json: cannot unmarshal number -1e999 into Go value of type float64",
        ),
        (b"null", True, "Invalid JSON Patch"),
        (b'"x"', False, "Invalid JSON Patch"),
        (b"{", False, "Invalid JSON Patch"),
    ],
)
def test_what_is_no_patch_document_is_a_400(body: bytes, strict: bool, message: str) -> None:
    with pytest.raises(StatusError) as caught:
        merge_patch.parse(body, strict)
    assert (caught.value.code, caught.value.message) == (400, message)


@pytest.mark.parametrize("strict", [False, True])
def test_a_patch_with_too_many_members_is_told_so(strict: bool) -> None:
    names = b",".join(b'"%d":0' % number for number in range(MOST_NAMES + 1))
    with pytest.raises(StatusError, match=f"^error decoding patch: json: more than {MOST_NAMES} members of one object"):
        merge_patch.parse(b"{%b}" % names, strict)
    with pytest.raises(StatusError, match=f"^error decoding patch: json: more than {MOST_COLLECTIONS} arrays and"):
        merge_patch.parse(b'{"a":[%b[]]}' % (b"[]," * MOST_COLLECTIONS), strict)


@pytest.mark.parametrize("body", [b"", b"null", b"1", b'"a"', b"{", b'{"a":1e999}'])
def test_what_is_no_patch_is_invalid(body: bytes) -> None:
    with pytest.raises(StatusError, match=r"^Invalid JSON Patch$"):
        merge_patch.parse(body, strict=False)
