"""The order of members in a patched object, as kube-apiserver's error messages quote it.

kube-apiserver writes the document as JSON in the order of Go's types. The patch library decodes each object that a
patch walks through into a Go map, and writes it again with sorted members. Other parts keep the order that they have
in the document or in the patch.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from gateway.schema.types import Type, TypeKind


def encoded(value: Any, type_: Type | None) -> Any:
    """The value as Go's encoder writes it: members of structs in the order of the type, members of maps sorted."""
    if isinstance(value, list):
        return [encoded(each, type_.elem if type_ else None) for each in value]
    if not isinstance(value, dict):
        return value
    if type_ and type_.kind is TypeKind.ANY and type_.elem is not None:  # JSONSchemaPropsOr*: a schema
        type_ = type_.elem
    fields = type_.fields if type_ and type_.kind is TypeKind.STRUCT and not type_.structural else {}
    keys = [*(name for name in fields if name in value), *sorted(key for key in value if key not in fields)]
    return {key: encoded(value[key], _member(type_, key)) for key in keys}


def merged(value: Any, original: Any, type_: Type | None) -> Any:
    """The result `value` of a merge patch of `original`, with its members in order.

    Parts that are the same Python object in both did not change. Objects of the patch have sorted members, because
    nulls are removed from them. A list that replaces an object is not searched for nulls, so it keeps its order.
    """
    if value is original:
        return encoded(value, type_)
    if isinstance(value, list):
        return value if isinstance(original, dict) else [merged(each, None, None) for each in value]
    if not isinstance(value, dict):
        return value
    old = original if isinstance(original, dict) else {}
    return {key: merged(value[key], old.get(key), _member(type_, key)) for key in sorted(value)}


def patched(value: Any, type_: Type | None, looked_into: Set[int], document: Set[int]) -> Any:
    """The result `value` of a JSON patch, with its members in order.

    `looked_into` has the ids of the containers that operations walked through, `document` those of the original
    containers. All other containers come from the patch.
    """
    if not isinstance(value, dict | list):
        return value
    if id(value) not in looked_into:
        return encoded(value, type_) if id(value) in document else value
    if isinstance(value, list):
        return [patched(each, type_.elem if type_ else None, looked_into, document) for each in value]
    return {key: patched(value[key], _member(type_, key), looked_into, document) for key in sorted(value)}


def containers(value: Any) -> set[int]:
    """The `id()`s of all objects and lists in a value."""
    found, todo = set[int](), [value]
    while todo:
        each = todo.pop()
        if isinstance(each, dict | list):
            found.add(id(each))
            todo += each.values() if isinstance(each, dict) else each
    return found


def _member(type_: Type | None, key: str) -> Type | None:
    if type_ is None or type_.structural:
        return None
    if type_.kind is TypeKind.STRUCT:
        field = type_.fields.get(key)
        return field.type if field else None
    return type_.elem if type_.kind is TypeKind.MAP else None
