"""Field sets: the form of fieldsV1, its order, and the algebra of sets."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.apply.field_set import (
    FieldSet,
    difference,
    from_wire,
    has,
    intersection,
    is_member,
    leaves,
    of_paths,
    ordered,
    paths,
    recursive_difference,
    shown_path,
    union,
)

ELEMENTS = st.sampled_from(["f:a", "f:b", 'k:{"name":"x"}', 'k:{"port":80}', 'k:{"port":443}', 'v:"s"', "v:1", "i:2"])
MEMBERS = st.sets(st.lists(ELEMENTS, min_size=1, max_size=3).map(tuple), max_size=6)


def made_of(members: Any) -> FieldSet:
    fields: FieldSet = {}
    for path in sorted(members):
        below: FieldSet = {}
        for element in reversed(path):
            below = {element: below}
        fields = union(fields, below)
    return fields


def members_of(fields: FieldSet) -> set[tuple[str, ...]]:
    return set(paths(fields))


@given(MEMBERS, MEMBERS)
def test_algebra_is_that_of_sets_of_paths(a: Any, b: Any) -> None:
    left, right = made_of(a), made_of(b)
    assert members_of(left) == a
    assert members_of(union(left, right)) == a | b
    assert members_of(intersection(left, right)) == a & b
    assert members_of(difference(left, right)) == a - b
    assert all(has(left, path) == (path in a) for path in a | b)


@given(MEMBERS, MEMBERS)
def test_recursive_difference_takes_all_below_too(a: Any, b: Any) -> None:
    left = {path for path in a if not any(path[:n] in b for n in range(1, len(path) + 1))}
    assert members_of(recursive_difference(made_of(a), made_of(b))) == left


@given(MEMBERS)
def test_leaves_have_no_members_below_them(a: Any) -> None:
    assert members_of(leaves(made_of(a))) == {p for p in a if not any(q != p and q[: len(p)] == p for q in a)}


@given(MEMBERS, st.randoms())
def test_wire_form_is_read_back_in_canonical_order(a: Any, random: Any) -> None:
    fields = made_of(a)
    items = list(fields.items())
    random.shuffle(items)
    again = from_wire(dict(items))
    assert again == fields
    assert list(again) == list(fields) == list(ordered(fields))


@given(MEMBERS, MEMBERS)
def test_a_set_that_does_not_change_is_returned_itself(a: Any, b: Any) -> None:
    fields = made_of(a | b)
    assert union(fields, made_of(b)) is fields
    assert difference(fields, {}) is fields


@given(MEMBERS, MEMBERS)
def test_what_is_taken_away_and_given_back_need_not_be_taken_away(a: Any, b: Any) -> None:
    fields, changed = made_of(a), made_of(b)
    kept = union(fields, changed)
    assert kept == union(changed, difference(fields, changed))
    assert list(kept) == list(ordered(kept))


def test_order_is_by_kind_then_by_value() -> None:
    wire: FieldSet = {"v:1": {}, 'k:{"port":443}': {}, 'k:{"port":80}': {}, "f:b": {}, "f:a": {}, "i:0": {}}
    assert list(from_wire(wire)) == ["f:a", "f:b", 'k:{"port":80}', 'k:{"port":443}', "v:1", "i:0"]


def test_keys_are_brought_into_the_order_of_their_names() -> None:
    assert from_wire({'k:{"protocol":"TCP", "port":80}': {}}) == {'k:{"port":80,"protocol":"TCP"}': {}}


def test_elements_of_unknown_kinds_are_dropped() -> None:
    assert from_wire({"x:new": {}, "f:a": {".": {}}}) == {"f:a": {}}


def test_null_stands_for_an_element_without_children() -> None:
    assert from_wire({"f:a": {"f:b": None}}) == {"f:a": {"f:b": {}}}


@pytest.mark.parametrize("wire", [{"f": {}}, {"fa": {}}, {"k:x": {}}, {"i:x": {}}, {"f:a": []}, []])
def test_what_is_no_field_set_is_refused(wire: Any) -> None:
    with pytest.raises(ValueError, match=r".+"):
        from_wire(wire)


def test_paths_are_shown_as_error_messages_have_them() -> None:
    path = ("f:spec", "f:ports", 'k:{"port":80,"protocol":"TCP"}', "f:x", 'v:"a"', "i:3")
    assert shown_path(path) == '.spec.ports[port=80,protocol="TCP"].x[="a"][3]'
    assert shown_path(('k:{"name":["a",1],"type":{}}',)) == '[name=["a",1],type=]'


def test_set_of_paths() -> None:
    fields = of_paths(("metadata",), ("metadata", "name"))
    assert fields == {"f:metadata": {".": {}, "f:name": {}}}
    assert is_member(fields["f:metadata"])
