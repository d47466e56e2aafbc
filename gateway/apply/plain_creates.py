"""The field sets of new objects that follow from the names of their members alone, so that they are computed once.

An object is plain if all its members are maps of leaves that are not empty, such as labels or the data of a ConfigMap,
besides members without managers and those that the caller counts itself. Its values do not matter then.
"""

from __future__ import annotations

from gateway.apply.field_set import FieldSet
from gateway.apply.shapes import Shape, element_of, shape_of
from gateway.jsontypes import JsonObject
from gateway.memo import Memory
from gateway.schema.types import Type, compiled

_TYPE_META = frozenset({"apiVersion", "kind"})

Names = tuple[tuple[str, ...], ...]
Known = Memory[Names, FieldSet]


@compiled
def known_of(type_: Type) -> Known:
    """The field sets of a type's plain objects. No caller may change them."""
    return Memory(size=1 << 18, largest=4 << 10)


def plain_names(obj: JsonObject, type_: Type, unowned: frozenset[str], beside: frozenset[str]) -> Names | None:
    """The names from which the fields of a new object follow; None if they do not.

    `unowned` are members of the metadata without managers, `beside` members of the object that do not count.
    """
    found: list[tuple[str, ...]] = []
    maps, in_metadata = _maps(type_)
    for name, value in obj.items():
        if name == "metadata":
            for inner, member in value.items():
                if inner in unowned:
                    continue
                if not member or inner not in in_metadata:
                    return None
                found.append((inner, *member))
        elif name in beside or name in _TYPE_META:
            continue
        elif value and name in maps:
            found.append((name, *value))
        else:
            return None
    return tuple(found)


def size_of(names: Names) -> int:
    """The bytes of a key and of its field set, roughly."""
    return sum(100 + sum(100 + 2 * len(each) for each in member) for member in names)


@compiled
def _maps(type_: Type) -> tuple[frozenset[str], frozenset[str]]:
    """The members of a built-in type, and those of its metadata, that are maps of leaves; none for other types."""
    meta = type_.fields.get("metadata")
    if type_.structural or meta is None:
        return frozenset(), frozenset()
    return _maps_in(type_), _maps_in(meta.type)


def _maps_in(type_: Type) -> frozenset[str]:
    fields = type_.fields.items()
    return frozenset(
        name
        for name, field in fields
        if shape_of(field.type) is Shape.MAP and shape_of(element_of(field.type)) is Shape.LEAF
    )
