"""Adapts a stored field set to a schema in which a list or map has become atomic.

A manager that owns parts of it then owns the whole. The reverse change needs no adaptation. The rules are those of
structured-merge-diff's ReconcileFieldSetWithSchema.
"""

from __future__ import annotations

from gateway.apply.field_set import LEAF, FieldSet
from gateway.apply.shapes import FREE, Shape, element_of, shape_of
from gateway.schema.types import Type, TypeKind


def reconciled(fields: FieldSet, type_: Type, touched: FieldSet | None = None) -> FieldSet:
    """`fields`, adapted to the type; the same dict if nothing changes.

    With `touched`, only elements that are in that set too are adapted.
    """
    result: FieldSet | None = None
    for element in fields if touched is None else [element for element in touched if element in fields]:
        below = fields[element]
        if not below or element == ".":
            continue
        member = _type_at(type_, element)
        if member is None:
            continue
        shape = shape_of(member)
        if shape is Shape.FREE:
            continue
        if shape is Shape.LEAF:
            fitting = _whole(below, member)
        else:
            fitting = reconciled(below, member, None if touched is None else touched[element])
        if fitting is not below:
            if result is None:
                result = dict(fields)
            result[element] = fitting
    return fields if result is None else result


def _whole(below: FieldSet, type_: Type) -> FieldSet:
    return LEAF if type_.kind in (TypeKind.STRUCT, TypeKind.MAP, TypeKind.LIST) else below


def _type_at(type_: Type, element: str) -> Type | None:
    if type_.kind is TypeKind.STRUCT:
        field = type_.fields.get(element[2:]) if element[:2] == "f:" else None
        return field.type if field else type_.elem
    return element_of(type_) if type_.kind in (TypeKind.MAP, TypeKind.LIST) else FREE
