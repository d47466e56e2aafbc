"""The shape of a type for field sets: a leaf with one owner, or a value whose parts have their own owners.

The rules are those by which kube-openapi converts schemas for structured-merge-diff. Lists are atomic unless they are
sets or associative. Maps and structs are granular unless they are marked atomic. In arbitrary JSON, only maps are
granular.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

from gateway.apply.path_element import key_element, quoted, scalar, value_element
from gateway.schema.types import Omit, Type, TypeKind


class Shape(Enum):
    LEAF = "leaf"  # scalars and all atomic types
    STRUCT = "struct"
    MAP = "map"
    ITEMS = "items"  # an associative list: keys identify the items
    SET = "set"
    FREE = "free"  # arbitrary JSON: the shape depends on the value


FREE = Type(TypeKind.ANY, "interface {}")

_ANY_IS_ATOMIC = "runtime.RawExtension"


def shape_of(type_: Type) -> Shape:
    match type_.kind:
        case TypeKind.STRUCT:
            return Shape.LEAF if type_.atomic else Shape.STRUCT
        case TypeKind.MAP:
            return Shape.LEAF if type_.atomic else Shape.MAP
        case TypeKind.LIST:
            return {"map": Shape.ITEMS, "set": Shape.SET}.get(type_.list_type, Shape.LEAF)
        case TypeKind.ANY:
            return Shape.LEAF if type_.name == _ANY_IS_ATOMIC else Shape.FREE
        case TypeKind.INT_OR_STRING if type_.structural:  # in a CRD it counts as arbitrary JSON
            return Shape.FREE
    return Shape.LEAF


def element_of(type_: Type) -> Type:
    """The type of a map's or list's elements."""
    return type_.elem or FREE


def is_open(type_: Type) -> bool:
    """Whether an apply may set members of a struct that its type does not declare."""
    return type_.elem is not None or type_.preserves or type_.lenient


def member_of(type_: Type, name: str) -> Type:
    """The type of a struct's member, or of a map's."""
    field = type_.fields.get(name)
    return field.type if field is not None else element_of(type_)


def members_of(type_: Type) -> Callable[[str], Type]:
    """`member_of` for one type, as a function without a reference to the type.

    Compiled functions are kept on the type. A reference back would be a cycle that is never freed.
    """
    fields, element = type_.fields, element_of(type_)

    def member(name: str) -> Type:
        field = fields.get(name)
        return field.type if field is not None else element

    return member


Keyed = Callable[[Any], str]


def item_key(type_: Type) -> Keyed:
    """A function from an item to its path element, for sets and associative lists.

    It raises ValueError for an item that can't be in such a list.
    """
    if type_.list_type == "set":
        return _member
    names = sorted(type_.list_map_keys)
    defaults = {name: _default(type_, name) for name in names}
    if len(names) == 1:
        return _single_key(names[0], defaults[names[0]], type_.list_map_keys)
    return _several_keys(names, defaults, type_.list_map_keys)


# its optional name has the default "", which these schemas can't distinguish from no default
_NAMED_BY_DEFAULT = "v1.LocalObjectReference"
_ZEROS = {TypeKind.STRING: "", TypeKind.INT32: 0, TypeKind.INT64: 0}


def _default(type_: Type, name: str) -> Any:
    """The schema's default of a key. The default of a field that Go always writes is its zero value."""
    element = element_of(type_)
    field = element.fields.get(name)
    if field is None or field.default is not None:
        return field.default if field else None
    always = field.omit is Omit.NEVER or element.name == _NAMED_BY_DEFAULT
    return _ZEROS.get(field.type.kind) if always else None


def _member(item: Any) -> str:
    match item:
        case dict():
            raise ValueError("associative list without keys has an element that's a map type")
        case list():
            raise ValueError("not supported: associative list with lists as elements")
        case None:
            raise ValueError("associative list without keys has an element that's an explicit null")
    return value_element(item)


def _single_key(name: str, default: Any, keys: tuple[str, ...]) -> Keyed:
    prefix = "k:{" + quoted(name) + ":"

    def keyed(item: Any) -> str:
        value = _object(item).get(name, default)
        if type(value) is str:
            return f"{prefix}{quoted(value)}}}"
        if value is None and name not in item:
            raise _without_keys(keys)
        return key_element({name: value})

    return keyed


def _several_keys(names: list[str], defaults: dict[str, Any], keys: tuple[str, ...]) -> Keyed:
    labels = [(name, defaults[name], f"{',' if i else 'k:{'}{quoted(name)}:") for i, name in enumerate(names)]

    def keyed(item: Any) -> str:
        members, text = _object(item), ""
        for name, default, label in labels:
            value = members.get(name, default)
            if value is None:
                return incomplete(members)
            text += label + scalar(value)
        return text + "}"

    def incomplete(members: dict[str, Any]) -> str:
        values = {name: members.get(name, defaults[name]) for name in names}
        found = {name: value for name, value in values.items() if value is not None or name in members}
        if not found:
            raise _without_keys(keys)
        return key_element(found)

    return keyed


def _object(item: Any) -> dict[str, Any]:
    if isinstance(item, dict):
        return item
    if item is None:
        raise ValueError("associative list with keys may not have a null element")
    raise ValueError("associative list with keys may not have non-map elements")


def _without_keys(keys: tuple[str, ...]) -> ValueError:
    names = "[" + " ".join(f'"{key}"' for key in keys) + "]"
    return ValueError(
        f"associative list with keys has an element that omits all key fields {names} "
        "(and doesn't have default values for any key fields)"
    )


def item_identity(type_: Type) -> Callable[[Any], Any]:
    """A function from an item to a value that identifies it. It is quicker than `item_key`.

    Items with the same path element have equal values. If the values can be compared, their order is the canonical
    order. The function raises AttributeError for items that are not objects.
    """
    if type_.list_type == "set":
        return _itself
    names = sorted(type_.list_map_keys)
    if len(names) == 1:
        name, default = names[0], _default(type_, names[0])
        return lambda item: item.get(name, default)
    defaults = [(name, _default(type_, name)) for name in names]
    return lambda item: tuple([item.get(name, default) for name, default in defaults])


def _itself(item: Any) -> Any:
    return item
