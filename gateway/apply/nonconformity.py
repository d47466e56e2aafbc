"""Checks that a value conforms to its type, with structured-merge-diff's messages."""

from __future__ import annotations

from typing import Any

from gateway.apply.fits import fits
from gateway.apply.path_element import shown
from gateway.apply.shapes import Shape, element_of, is_open, item_key, shape_of
from gateway.schema.types import FORMATTED, FREE_OBJECT, Type, TypeKind
from gateway.validation.field import MOST_ERRORS, go_quote, path_to
from gateway.validation.go_print import go_print, go_type

_Errors = list[tuple[str, str]]

_TWICE = "duplicate entries for key"
_UNTYPED = frozenset({TypeKind.QUANTITY, TypeKind.TIME, TypeKind.MICROTIME, TypeKind.DURATION})


def nonconformity(value: Any, type_: Type, *, duplicates: bool = False) -> str | None:
    """All errors of the value in one text; None if it conforms to the type.

    Duplicate items of a list are errors unless `duplicates` is True.
    """
    if fits(type_)(value):
        return None
    errors: _Errors = []
    _check(value, type_, "", errors)
    if duplicates:
        errors = [(path, message) for path, message in errors if not message.startswith(_TWICE)]
    lines = [f"{path}: {message}" if path else message for path, message in errors]
    return "\n".join(["errors:", *(f"  {line}" for line in lines)]) if len(lines) > 1 else lines[0] if lines else None


def _check(value: Any, type_: Type, path: str, errors: _Errors) -> None:
    if value is None or len(errors) >= MOST_ERRORS:
        return
    match type_.kind:
        case TypeKind.STRUCT | TypeKind.MAP:
            if isinstance(value, dict):
                _check_members(value, type_, path, errors)
            else:
                errors.append((path, f"expected map, got {_pointer(value)}"))
        case TypeKind.LIST:
            if isinstance(value, list):
                _check_items(value, type_, path, errors)
            else:
                errors.append((path, f"expected list, got {_pointer(value)}"))
        case TypeKind.ANY:
            if type_.name == FREE_OBJECT and not isinstance(value, dict):
                errors.append((path, f"expected map, got {_pointer(value)}"))
        case TypeKind.INT_OR_STRING:
            pass
        case _:
            message = _scalar_error(value, TypeKind.QUANTITY if type_.name == FORMATTED else type_.kind)
            if message:
                errors.append((path, message))


def _check_members(value: dict[str, Any], type_: Type, path: str, errors: _Errors) -> None:
    for name, member in value.items():
        if type_.kind is TypeKind.MAP:
            _check(member, element_of(type_), path_to(path, f".{name}"), errors)
            continue
        field = type_.fields.get(name)
        if field is None and is_open(type_):
            _check(member, element_of(type_), path_to(path, f".{name}"), errors)
            continue
        if field is None:
            errors.append((path_to(path, f".{name}"), "field not declared in schema"))
            return
        _check(member, field.type, path_to(path, f".{name}"), errors)


def _check_items(value: list[Any], type_: Type, path: str, errors: _Errors) -> None:
    element = element_of(type_)
    if shape_of(type_) is Shape.LEAF:
        for i, item in enumerate(value):
            _check(item, element, f"{path}[{i}]", errors)
        return
    keyed = item_key(type_)
    seen: set[str] = set()
    for i, item in enumerate(value):
        try:
            key = keyed(item)
        except ValueError as error:
            errors.append((path, f"element {i}: {error}"))
            return
        if key in seen:
            errors.append((path, f"{_TWICE} {shown(key)}"))
        seen.add(key)
        _check(item, element, path_to(path, shown(key)), errors)


def _scalar_error(value: Any, kind: TypeKind) -> str | None:
    match kind:
        case TypeKind.STRING | TypeKind.BYTES:
            return None if isinstance(value, str) else f"expected string, got {_syntax_pointer(value)}"
        case TypeKind.BOOL:
            return None if isinstance(value, bool) else f"expected boolean, got {_pointer(value)}"
        case _ if kind in _UNTYPED:
            return f"expected any scalar, got {_pointer(value)}" if isinstance(value, dict | list) else None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return None
    return f"expected numeric (int or float), got {go_type(value)}"


def _pointer(value: Any) -> str:
    """The text that Go prints for a pointer to a struct with the value."""
    return f"&{{{go_print(value)}}}"


def _syntax_pointer(value: Any) -> str:
    return f"&value.valueUnstructured{{Value:{_syntax(value)}}}"


def _syntax(value: Any) -> str:
    """A value in Go's syntax."""
    match value:
        case str():
            return go_quote(value)
        case dict():
            members = ", ".join(f"{go_quote(key)}:{_syntax(value[key])}" for key in sorted(value))
            return f"map[string]interface {{}}{{{members}}}"
        case list():
            return f"[]interface {{}}{{{', '.join(map(_syntax, value))}}}"
        case None:
            return "interface {}(nil)"
    return go_print(value)
