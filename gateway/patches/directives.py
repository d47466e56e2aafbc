"""What modules of strategic merge patches share: names of directives, errors, merge keys and strategies of fields."""

from __future__ import annotations

from typing import Any

from gateway.schema.types import Field, Type, TypeKind
from gateway.validation.go_print import go_print, go_type

DIRECTIVE = "$patch"
RETAIN_KEYS = "$retainKeys"
DELETE_FROM_LIST = "$deleteFromPrimitiveList"
SET_ELEMENT_ORDER = "$setElementOrder"


class MergeError(Exception):
    """A patch that cannot be merged; `code` is the HTTP status of the response."""

    def __init__(self, message: str, code: int = 500) -> None:
        super().__init__(message)
        self.code = code


def bad_format(message: str) -> MergeError:
    return MergeError(message, 400)


def bad_argument(expected: Any, actual: Any) -> MergeError:
    return MergeError(f"expected a {go_type(expected)}, but received a {go_type(actual)}")


def unknown_directive(directive: Any, element: dict[str, Any]) -> MergeError:
    shown = directive if isinstance(directive, str) else f"%!s({go_type(directive)}={go_print(directive)})"
    return MergeError(f"unknown patch type: {shown} in map: {go_print(element)}")


def no_merge_key(element: Any, merge_key: str) -> MergeError:
    return MergeError(f"map: {go_print(element)} does not contain declared merge key: {merge_key}")


def field_of(type_: Type | None, key: str) -> Field:
    """The field of a struct for a JSON key: by its exact name, else in any case. Raises MergeError if there is none."""
    raw = type_ is not None and type_.kind is TypeKind.ANY and bool(type_.name)  # in Go a struct without JSON fields
    if type_ is None or not (raw or type_.kind is TypeKind.STRUCT):
        kind = "interface" if type_ is None or type_.kind is TypeKind.ANY else _GO_KINDS.get(type_.kind, "string")
        raise MergeError(f"merging an object in json but data type is not struct, instead is: {kind}")
    field = type_.fields.get(key)
    if field is None:
        folded = key.casefold()
        field = next((known for name, known in type_.fields.items() if name.casefold() == folded), None)
    if field is None:
        struct = type_.name.rpartition(".")[2]
        raise MergeError(f'unable to find api field in struct {struct} for the json field "{key}"')
    return field


_GO_KINDS = {
    TypeKind.MAP: "map",
    TypeKind.LIST: "slice",
    TypeKind.INT32: "int32",
    TypeKind.INT64: "int64",
    TypeKind.BOOL: "bool",
}


def strategy_of(field: Field) -> str:
    """The field's patch strategy, apart from `retainKeys`: "merge", "replace" or ""."""
    return next((name for name in field.patch_strategies if name != "retainKeys"), "")


def without_nulls(value: Any) -> Any:
    """Removes null members, at any depth, from a value of the patch for a field that the object lacks or has otherwise.

    Changes the value in place, and returns it.
    """
    if isinstance(value, dict):
        for key in [key for key, member in value.items() if member is None]:
            del value[key]
        for member in value.values():
            without_nulls(member)
    elif isinstance(value, list):
        for member in value:
            without_nulls(member)
    return value


def without_directives(value: Any) -> tuple[Any, bool]:
    """Returns the value without objects that have a `$patch` directive, and false if the value is such an object."""
    if isinstance(value, dict):
        if DIRECTIVE in value:
            return None, False
        for key in list(value):
            value[key], keep = without_directives(value[key])
            if not keep:
                del value[key]
    elif isinstance(value, list):
        members: list[Any] = []
        for each in value:
            member, keep = without_directives(each)
            if keep:
                members.append(member)
        return members, True
    return value, True
