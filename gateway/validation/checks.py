"""Small rules that many kinds share: enumerations, immutable fields, ranges, and equality of values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from gateway.jsontypes import dumps, identical
from gateway.validation.field import FieldError, Verbatim, duplicate, go_value, invalid, not_supported, required
from gateway.validation.formats import is_port_name, is_port_number

IMMUTABLE = "field is immutable"
NOT_NEGATIVE = "must be greater than or equal to 0"


def each(path: str, value: Any, messages: Iterable[str]) -> list[FieldError]:
    """One "Invalid value" for each message about `value`."""
    return [invalid(path, value, message) for message in messages]


def text(path: str, value: str | None, rule: Callable[[str], Iterable[str]]) -> list[FieldError]:
    """Required for an absent or empty string, else one "Invalid value" for each message of `rule`."""
    return each(path, value, rule(value)) if value else [required(path)]


def one_of(path: str, value: Any, supported: Sequence[str]) -> list[FieldError]:
    """Required for an absent or empty value, NotSupported for one that is not in `supported`."""
    if not value:
        return [required(path)]
    return [] if value in supported else [not_supported(path, value, supported)]


def known(path: str, value: Any, supported: Sequence[str]) -> list[FieldError]:
    """NotSupported unless `value` is one of `supported`."""
    return [] if value in supported else [not_supported(path, value, supported)]


def port_or_name(path: str, value: Any) -> list[FieldError]:
    """Checks a port, which is a number or a name (IANA service name)."""
    if isinstance(value, str):
        return each(path, value, is_port_name(value))
    return each(path, value or 0, is_port_number(value or 0))


def not_negative(path: str, value: int) -> list[FieldError]:
    return [] if value >= 0 else [invalid(path, value, NOT_NEGATIVE)]


def immutable(path: str, new: Any, old: Any) -> list[FieldError]:
    """Invalid unless `new` and `old` are semantically equal."""
    return [] if same(new, old) else [invalid(path, new, IMMUTABLE)]


def duplicate_struct(path: str, **fields: Any) -> FieldError:
    """A Duplicate that shows `fields` as the JSON of a struct, in their order."""
    shown = ",".join(f'"{name}":{go_value(value)}' for name, value in fields.items())
    return duplicate(path, Verbatim(f"{{{shown}}}"))


def same(a: Any, b: Any) -> bool:
    """Semantic equality of decoded values: an empty list equals an absent one, at any depth."""
    return identical(a, b) or identical(_without_empty(a), _without_empty(b))


def same_text(a: Any, b: Any) -> bool:
    """Whether two values of raw JSON (RawExtension) have the same text. Go compares bytes: the order of keys counts."""
    return dumps(a) == dumps(b)


def _without_empty(value: Any) -> Any:
    if isinstance(value, dict):
        members = {key: _without_empty(member) for key, member in value.items()}
        return {key: member for key, member in members.items() if member is not None}
    if isinstance(value, list):
        return [_without_empty(item) for item in value] or None
    return value
