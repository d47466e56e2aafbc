"""Checks that a value conforms to its type, with structured-merge-diff's messages."""

from __future__ import annotations

from typing import Any

from gateway.apply.fits import fits
from gateway.apply.path_element import shown
from gateway.apply.shapes import Shape, element_of, is_open, item_key, shape_of
from gateway.schema.types import FORMATTED, FREE_OBJECT, Type, TypeKind
from gateway.time_limits import look
from gateway.validation.field import MOST_ERRORS, go_quote, path_to
from gateway.validation.go_print import go_print, go_type

_TWICE = "duplicate entries for key"
_UNTYPED = frozenset({TypeKind.QUANTITY, TypeKind.TIME, TypeKind.MICROTIME, TypeKind.DURATION})
MOST_TEXT = 1 << 18  # characters of all errors together, beyond those of the last one

_Place = tuple[Any, str] | None  # the place of the container, and this value's part of the path


def nonconformity(value: Any, type_: Type, *, duplicates: bool = False) -> str | None:
    """The errors of the value in one text, up to a bound; None if it conforms to the type.

    Duplicate items of a list are errors unless `duplicates` is True.
    """
    if fits(type_)(value):
        return None
    errors = _Errors(duplicates)
    _check(value, type_, None, errors)
    lines = errors.lines
    return "\n".join(["errors:", *(f"  {line}" for line in lines)]) if len(lines) > 1 else lines[0] if lines else None


class _Errors:
    """The errors that are found: at most MOST_ERRORS. Their texts are bounded, too: each may name the same long key."""

    __slots__ = ("_left", "duplicates", "lines")

    def __init__(self, duplicates: bool) -> None:
        self.lines: list[str] = []
        self.duplicates = duplicates  # whether these are allowed
        self._left = MOST_TEXT

    @property
    def full(self) -> bool:
        return len(self.lines) >= MOST_ERRORS or self._left <= 0

    def add(self, place: _Place, message: str) -> None:
        """Adds an error unless this is full."""
        if not self.full:
            path = _text(place)
            self.lines.append(f"{path}: {message}" if path else message)
            self._left -= len(self.lines[-1])


def _text(place: _Place) -> str:
    pieces = list[str]()
    while place is not None:
        place, piece = place
        pieces.append(piece)
    return path_to("", "".join(reversed(pieces)))


def _check(value: Any, type_: Type, place: _Place, errors: _Errors) -> None:
    if value is None or errors.full:
        return
    match type_.kind:
        case TypeKind.STRUCT | TypeKind.MAP:
            if isinstance(value, dict):
                _check_members(value, type_, place, errors)
            else:
                errors.add(place, f"expected map, got {_pointer(value)}")
        case TypeKind.LIST:
            if isinstance(value, list):
                _check_items(value, type_, place, errors)
            else:
                errors.add(place, f"expected list, got {_pointer(value)}")
        case TypeKind.ANY:
            if type_.name == FREE_OBJECT and not isinstance(value, dict):
                errors.add(place, f"expected map, got {_pointer(value)}")
        case TypeKind.INT_OR_STRING:
            pass
        case _:
            message = _scalar_error(value, TypeKind.QUANTITY if type_.name == FORMATTED else type_.kind)
            if message:
                errors.add(place, message)


def _check_members(value: dict[str, Any], type_: Type, place: _Place, errors: _Errors) -> None:
    look()
    for name, member in value.items():
        inner = (place, f".{name}")
        if type_.kind is TypeKind.MAP:
            _check(member, element_of(type_), inner, errors)
            continue
        field = type_.fields.get(name)
        if field is None and is_open(type_):
            _check(member, element_of(type_), inner, errors)
            continue
        if field is None:
            errors.add(inner, "field not declared in schema")
            return
        _check(member, field.type, inner, errors)


def _check_items(value: list[Any], type_: Type, place: _Place, errors: _Errors) -> None:
    look()
    element = element_of(type_)
    if shape_of(type_) is Shape.LEAF:
        for i, item in enumerate(value):
            _check(item, element, (place, f"[{i}]"), errors)
        return
    keyed = item_key(type_)
    seen: set[str] = set()
    for i, item in enumerate(value):
        if errors.full:
            return
        try:
            key = keyed(item)
        except ValueError as error:
            errors.add(place, f"element {i}: {error}")
            return
        if key in seen and not errors.duplicates:
            errors.add(place, f"{_TWICE} {shown(key)}")
        seen.add(key)
        _check(item, element, (place, shown(key)), errors)


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
