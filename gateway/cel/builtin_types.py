"""The CEL types of a built-in kind's fields (page "Validating Admission Policy", "Type checking").

Fields of some types, such as quantities, are not declared, because their schema has no single type."""

from __future__ import annotations

from gateway.cel.names import escape
from gateway.cel.schema_types import SchemaDeclaration
from gateway.cel.types import BOOL, BYTES, DOUBLE, DYN, INT, STRING, TIMESTAMP
from gateway.schema.types import Type, TypeKind

_SCALARS = {
    TypeKind.STRING: STRING,
    TypeKind.BOOL: BOOL,
    TypeKind.INT32: INT,
    TypeKind.INT64: INT,
    TypeKind.FLOAT: DOUBLE,
    TypeKind.BYTES: BYTES,
    TypeKind.TIME: TIMESTAMP,
    TypeKind.MICROTIME: TIMESTAMP,
    TypeKind.DURATION: STRING,
    TypeKind.INT_OR_STRING: DYN,
}
_OPAQUE_OBJECTS = ("runtime.RawExtension", "v1.FieldsV1")


class _Declaring:
    """Declares the types of one object. A recursive type is declared as an object without fields."""

    def __init__(self) -> None:
        self._known: dict[int, SchemaDeclaration | None] = {}

    def declare(self, type_: Type) -> SchemaDeclaration | None:
        key = id(type_)
        if key not in self._known:
            self._known[key] = SchemaDeclaration(fields={}) if type_.kind is TypeKind.STRUCT else None
            self._known[key] = self._declared(type_)
        return self._known[key]

    def _declared(self, type_: Type) -> SchemaDeclaration | None:
        match type_.kind:
            case TypeKind.STRUCT:
                return self._object(type_)
            case TypeKind.LIST | TypeKind.MAP:
                element = None if type_.elem is None else self.declare(type_.elem)
                return (
                    None if element is None else SchemaDeclaration(element=element, is_map=type_.kind is TypeKind.MAP)
                )
            case TypeKind.ANY:
                return SchemaDeclaration(fields={}) if type_.name in _OPAQUE_OBJECTS else None
        scalar = _SCALARS.get(type_.kind)
        return None if scalar is None else SchemaDeclaration(scalar)

    def _object(self, type_: Type) -> SchemaDeclaration:
        fields = dict[str, tuple[str, SchemaDeclaration]]()
        for name, field in type_.fields.items():
            declared, written = self.declare(field.type), escape(name)
            if declared is not None and written is not None:
                fields[written] = name, declared
        return SchemaDeclaration(fields=fields)


def declare_builtin(type_: Type) -> SchemaDeclaration | None:
    """The declaration of a type; None if expressions cannot use its values."""
    return _Declaring().declare(type_)
