"""Sets of field paths in the form of fieldsV1, and operations on them.

A set is a dict from path elements to the sets below them. An element is a member itself if the set below it is empty
or has the entry ".". So `{"f:a": {".": {}, "f:b": {}}, "f:c": {"f:d": {}}}` has the members a, a.b and c.d. Sets are
shared, so they are never changed after they are made. A function returns its argument if the result equals it.
The semantics are those of structured-merge-diff's fieldpath.Set.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gateway.apply.path_element import canonical, order, shown
from gateway.time_limits import sorted_in_pieces

FieldSet = dict[str, Any]

LEAF: FieldSet = {}


def is_member(below: FieldSet) -> bool:
    """Whether an element with the set `below` it is a member."""
    return not below or "." in below


def node(member: bool, children: FieldSet) -> FieldSet | None:
    """The set below an element that has `children` (without "."). None if it is not a member and has no children."""
    if not children:
        return LEAF if member else None
    return {".": LEAF, **children} if member else children


def children_of(below: FieldSet) -> FieldSet:
    if "." not in below:
        return below
    return {element: child for element, child in below.items() if element != "."}


def in_order(fields: FieldSet) -> FieldSet:
    """The set with its top-level elements in canonical order."""
    return {element: fields[element] for element in sorted_in_pieces(fields, key=order)}


def ordered(fields: FieldSet) -> FieldSet:
    """The set in canonical order on all levels."""
    result = {element: ordered(below) if below else LEAF for element, below in fields.items()}
    return in_order(result) if len(result) > 1 else result


def from_wire(value: Any) -> FieldSet:
    """Reads a client's fieldsV1 into canonical form. Elements of unknown kinds are dropped.

    Raises ValueError if the value is not a field set.
    """
    fields: FieldSet = {}
    if value is None:
        return LEAF
    if not isinstance(value, dict):
        raise ValueError("no object")
    for element, below in value.items():
        if element == ".":
            fields["."] = LEAF
            continue
        name = canonical(element)
        if name is not None:
            fields[name] = from_wire(below)
    if len(fields) == 1 and "." in fields:
        return LEAF
    return in_order(fields) if len(fields) > 1 else fields


def union(a: FieldSet, b: FieldSet) -> FieldSet:
    """The members of either set."""
    if not b or a is b:
        return a
    if not a:
        return b
    result: FieldSet | None = None
    fresh = False
    for element, below in b.items():
        if element not in a:
            joined, fresh = below, True
        else:
            joined = _joined(a[element], below)
            if joined is a[element]:
                continue
        if result is None:
            result = dict(a)
        result[element] = joined
    if result is None:
        return a
    return in_order(result) if fresh else result


def union_of(sets: list[FieldSet]) -> FieldSet:
    """The members of any of the sets. Joins them in pairs: one after another would copy a growing set each time."""
    while len(sets) > 1:
        pairs = [union(a, b) for a, b in zip(sets[::2], sets[1::2], strict=False)]
        sets = [*pairs, *sets[len(pairs) * 2 :]]
    return sets[0] if sets else LEAF


def _joined(a: FieldSet, b: FieldSet) -> FieldSet:
    if a is b:
        return a
    if not b:
        return a if is_member(a) else {".": LEAF, **a}
    if not a:
        return b if is_member(b) else {".": LEAF, **b}
    return union(a, b)


def difference(a: FieldSet, b: FieldSet) -> FieldSet:
    """The members of `a` that are not in `b`. Members of `a` below a member of `b` stay."""
    if not b:
        return a
    result: FieldSet | None = None
    for element in b.keys() & a.keys() if len(b) < len(a) else [key for key in a if key in b]:
        if element == ".":
            continue
        left = _left(a[element], b[element])
        if left is a[element]:
            continue
        if result is None:
            result = dict(a)
        if left is None:
            del result[element]
        else:
            result[element] = left
    return a if result is None else result


def _left(a: FieldSet, b: FieldSet) -> FieldSet | None:
    if not a:
        return None if is_member(b) else a
    children = difference(a, b)
    if "." not in a:
        return children or None
    if is_member(b):
        return children_of(children) or None
    return a if children is a else node(True, children_of(children))


def recursive_difference(a: FieldSet, b: FieldSet) -> FieldSet:
    """The members of `a` that are neither in `b` nor below a member of `b`."""
    result: FieldSet | None = None
    for element, below in b.items():
        if element == "." or element not in a:
            continue
        if is_member(below):
            left = None
        elif not a[element]:
            continue
        else:
            children = recursive_difference(a[element], below)
            if children is a[element]:
                continue
            left = node("." in children, children_of(children))
        if result is None:
            result = dict(a)
        if left is None:
            del result[element]
        else:
            result[element] = left
    return a if result is None else result


def intersection(a: FieldSet, b: FieldSet) -> FieldSet:
    """The members of both sets."""
    result: FieldSet = {}
    for element, below in a.items():
        if element == "." or element not in b:
            continue
        other = b[element]
        both = node(is_member(below) and is_member(other), intersection(below, other))
        if both is not None:
            result[element] = both
    return result


def leaves(fields: FieldSet) -> FieldSet:
    """The members without members below them."""
    return {element: leaves(below) if below else LEAF for element, below in fields.items() if element != "."}


def has(fields: FieldSet, path: tuple[str, ...]) -> bool:
    """Whether a path of path elements is a member."""
    for element in path:
        if element not in fields:
            return False
        fields = fields[element]
    return bool(path) and is_member(fields)


def paths(fields: FieldSet, prefix: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The paths of all members. On each level, members come before the members below them."""
    for element, below in fields.items():
        if element != "." and is_member(below):
            yield (*prefix, element)
    for element, below in fields.items():
        if below:
            yield from paths(below, (*prefix, element))


def shown_path(path: tuple[str, ...]) -> str:
    """A path in error messages: `.spec.containers[name="x"].image`."""
    return "".join(map(shown, path))


def of_paths(*members: tuple[str, ...]) -> FieldSet:
    """The set of these paths. A path is a tuple of field names."""
    fields: FieldSet = {}
    for path in members:
        below: FieldSet = LEAF
        for name in reversed(path):
            below = {f"f:{name}": below}
        fields = union(fields, below)
    return fields
