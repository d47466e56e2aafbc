"""The checks of declarative rules, in the words of k8s.io/apimachinery/pkg/api/validate."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from gateway.jsontypes import go_dumps
from gateway.schema.catalog import type_of
from gateway.schema.order import in_go_order
from gateway.validation.declared_rules import NEW, DeclaredCheck
from gateway.validation.field import (
    FieldError,
    Verbatim,
    duplicate,
    forbidden,
    go_quote,
    invalid,
    not_supported,
    too_long,
    too_long_characters,
    too_many,
)
from gateway.validation.field import required as missing
from gateway.validation.names import byte_length
from gateway.validation.objectmeta import IMMUTABLE

ANY = ""
"""All handwritten errors of the field with the reason "Invalid value" are replaced."""


def _required(value: Any, old: Any, path: str) -> list[FieldError]:
    return [missing(path)] if value is None else []


def _immutable(value: Any, old: Any, path: str) -> list[FieldError]:
    return [] if old is NEW else [invalid(path, None, IMMUTABLE)]


def _forbidden(value: Any, old: Any, path: str) -> list[FieldError]:
    return [forbidden(path, "")]


def _unmodified(value: Any, old: Any, path: str) -> list[FieldError]:
    changed = old is not NEW and old is not None and value is not None
    return [invalid(path, None, "field cannot be modified once set")] if changed else []


def _cleared(value: Any, old: Any, path: str) -> list[FieldError]:
    gone = value is None and old is not NEW and old is not None
    return [invalid(path, None, "field cannot be cleared once set")] if gone else []


required = DeclaredCheck(_required, ends=True, of_absent=True)
immutable = DeclaredCheck(_immutable, ends=True, of_absent=True)
banned = DeclaredCheck(_forbidden, ends=True)
uncleared = DeclaredCheck(_cleared, ends=True, of_absent=True)
unmodified = DeclaredCheck(_unmodified, ends=True, instead=IMMUTABLE)


def minimum(least: int) -> DeclaredCheck:
    """A check that a number is at least `least`."""

    def check(value: Any, old: Any, path: str) -> list[FieldError]:
        wrong = isinstance(value, int) and value < least
        return [invalid(path, value, f"must be greater than or equal to {least}")] if wrong else []

    return DeclaredCheck(check)


def maximum(most: int) -> DeclaredCheck:
    """A check that a number is at most `most`."""

    def check(value: Any, old: Any, path: str) -> list[FieldError]:
        wrong = isinstance(value, int) and value > most
        return [invalid(path, value, f"must be less than or equal to {most}")] if wrong else []

    return DeclaredCheck(check)


def at_most(items: int) -> DeclaredCheck:
    """A check that a list has at most so many items."""

    def check(value: Any, old: Any, path: str) -> list[FieldError]:
        return [too_many(path, len(value), items)] if len(value) > items else []

    return DeclaredCheck(check, ends=True)


def at_most_characters(most: int) -> DeclaredCheck:
    """A check of the length of a text."""

    def check(value: Any, old: Any, path: str) -> list[FieldError]:
        return [too_long_characters(path, most)] if len(value) > most else []

    return DeclaredCheck(check)


def at_most_bytes(most: int) -> DeclaredCheck:
    """A check of the length of a text in UTF-8."""

    def check(value: Any, old: Any, path: str) -> list[FieldError]:
        return [too_long(path, most)] if byte_length(value) > most else []

    return DeclaredCheck(check)


def one_of(*values: str) -> DeclaredCheck:
    """A check that a text is one of `values`."""

    def check(value: Any, old: Any, path: str) -> list[FieldError]:
        return [] if value in values else [not_supported(path, value, values)]

    return DeclaredCheck(check)


def format_of(rule: Callable[[str, str], Sequence[FieldError]]) -> DeclaredCheck:
    """A check of the format of a text; `rule` takes the text and its path."""
    return DeclaredCheck(lambda value, old, path: rule(value, path), instead=ANY)


def each_key(rule: Callable[[str, str], Sequence[FieldError]]) -> DeclaredCheck:
    """A check of the keys of a map. Those that an update leaves are not checked again."""

    def check(value: Any, old: Any, path: str) -> list[FieldError]:
        before = () if old is NEW or old is None else old
        return [error for key in value if key not in before for error in rule(key, path)]

    return DeclaredCheck(check, instead=ANY)


def unique(*keys: str, type_name: str = "") -> DeclaredCheck:
    """A check that no two items of a list are equal, or have the same values of `keys`; then `type_name` is theirs."""

    def check(value: Any, old: Any, path: str) -> list[FieldError]:
        found, seen = list[FieldError](), set[Any]()
        for i, item in enumerate(value):
            key = tuple(item.get(name, "") for name in keys) if keys else item
            if key in seen:
                shown = Verbatim(go_dumps(in_go_order(type_of(type_name), dict(item)))) if keys else item
                found.append(duplicate(f"{path}[{i}]", shown))
            seen.add(key)
        return found

    return DeclaredCheck(check)


def by_mode(discriminator: str, member: str, **modes: DeclaredCheck | None) -> DeclaredCheck:
    """A check of a member that depends on the value of another one. In a mode that is not named it is forbidden."""

    def check(value: Any, old: Any, path: str) -> Sequence[FieldError]:
        mode, held = value.get(discriminator) or "", value.get(member)
        if old is not NEW and old is not None and (old.get(discriminator) or "", old.get(member)) == (mode, held):
            return []
        rule = modes.get(mode, banned)
        if rule is None or (held is None and not rule.of_absent):
            return []
        return rule.judge(held, None, f"{path}.{member}")

    return DeclaredCheck(check)


def union(*members: str, instead: str | None = None) -> DeclaredCheck:
    """A check that exactly one of the members is set. An update that keeps the same ones passes."""
    named, known = [f"`{name}`" for name in members], frozenset(members)

    def check(value: Any, old: Any, path: str) -> list[FieldError]:
        if len(value) == 1 and value.keys() <= known and None not in value.values():
            return []  # as nearly always
        given = _given(value, members)
        if old is not NEW and old is not None and _given(old, members) == given:
            return []
        if not given:
            return [invalid(path, "", f"must specify one of: {', '.join(named)}")]
        text = f"must specify exactly one of: {', '.join(named)}"
        return [invalid(path, f"{{{', '.join(given)}}}", text)] if len(given) > 1 else []

    return DeclaredCheck(check, instead=instead)


def _given(value: Any, members: Iterable[str]) -> list[str]:
    return [name for name in members if value and value.get(name) not in (None, [])]


def at_most_one(name: str, *types: str, instead: str | None = None) -> DeclaredCheck:
    """A check that a list has at most one of these types. An update that keeps the same ones passes.

    `name` is the name of the list in messages.
    """
    members = {each: f'{name}[{{"type": {go_quote(each)}}}]' for each in types}
    allowed = ", ".join(f"`{member}`" for member in members.values())

    def there(items: Any) -> list[str]:
        given = {item.get("type") for item in items or ()}
        return [member for each, member in members.items() if each in given]

    def check(value: Any, old: Any, path: str) -> list[FieldError]:
        given = there(value)
        if len(given) < 2 or (old is not NEW and old and there(old) == given):
            return []
        return [invalid(path, f"{{{', '.join(given)}}}", f"must specify at most one of: {allowed}")]

    return DeclaredCheck(check, instead=instead)
