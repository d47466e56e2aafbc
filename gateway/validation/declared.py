"""Declarative rules of fields, which are checked after the handwritten rules of a kind.

As "Declarative Validation" (KEP-5073): errors of such rules come after all others, and replace a handwritten error of
the same field and reason. A field that an update does not change is not checked again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from gateway.jsontypes import JsonObject
from gateway.validation.field import INVALID, FieldError, invalid, judged, not_supported, too_many
from gateway.validation.field import required as missing
from gateway.validation.objectmeta import IMMUTABLE

NEW = object()
"""The old value of a field that has no old value."""

Check = Callable[[Any, Any, str], FieldError | None]
"""Takes a value, its old value or NEW, and its path; returns the error, or None."""


class Declared(NamedTuple):
    """The rules of a field. Only the first error is reported.

    `path` has the names of the members that lead to the field. After a name, `[]` means each item of the list, and `?`
    that nothing below is checked if the member is absent. `instead` is the detail of the handwritten error that is
    replaced, if that has other words.
    """

    path: str
    checks: tuple[Check, ...]
    instead: str = ""


def required(value: Any, old: Any, path: str) -> FieldError | None:
    return None if value else missing(path)


def immutable(value: Any, old: Any, path: str) -> FieldError | None:
    return None if old is NEW else invalid(path, None, IMMUTABLE)


def minimum(least: int) -> Check:
    """A check that a number, if there is one, is at least `least`."""

    def check(value: Any, old: Any, path: str) -> FieldError | None:
        wrong = isinstance(value, int) and value < least
        return invalid(path, value, f"must be greater than or equal to {least}") if wrong else None

    return check


def at_most(items: int) -> Check:
    """A check that a list has at most so many items."""

    def check(value: Any, old: Any, path: str) -> FieldError | None:
        return too_many(path, len(value), items) if value and len(value) > items else None

    return check


def one_of(*values: str) -> Check:
    """A check that a text is one of `values`."""

    def check(value: Any, old: Any, path: str) -> FieldError | None:
        return not_supported(path, value, values) if value not in values else None

    return check


def at_most_one(name: str, *types: str) -> Check:
    """A check that a list has at most one of these types. An update that keeps the same ones passes.

    `name` is the name of the list in messages.
    """
    members = {each: f'{name}[{{"type": "{each}"}}]' for each in types}
    allowed = ", ".join(f"`{member}`" for member in members.values())

    def there(items: Any) -> list[str]:
        given = {item.get("type") for item in items or ()}
        return [member for each, member in members.items() if each in given]

    def check(value: Any, old: Any, path: str) -> FieldError | None:
        given = there(value)
        if len(given) < 2 or (old is not NEW and old and there(old) == given):
            return None
        return invalid(path, f"{{{', '.join(given)}}}", f"must specify at most one of: {allowed}")

    return check


def errors_beside(
    rules: Sequence[Declared], found: Sequence[FieldError], obj: JsonObject, old: JsonObject | None
) -> list[FieldError]:
    """All errors of an object: those of `found` (handwritten) that are not replaced, then the declarative ones."""
    told, taken = list[FieldError](), set[tuple[str, str, str]]()

    def declared() -> list[FieldError]:
        for rule in rules:
            for error in _errors(rule, rule.path, obj, NEW if old is None else old, ""):
                told.append(error)
                taken.add(_place(error, rule.instead))
        return told

    judged(declared)
    return [error for error in found if _place(error) not in taken] + told


def _place(error: FieldError, instead: str = "") -> tuple[str, str, str]:
    """What a handwritten and a declarative error about one fault share: reason, field, detail of "Invalid value"."""
    detail = (instead or error.detail) if error.reason == INVALID[0] else ""
    return error.reason, error.field, detail


def _errors(rule: Declared, path: str, value: Any, old: Any, shown: str) -> Iterator[FieldError]:
    """The errors of one rule below `value`; `path` is the rest of the rule's path, `shown` the path so far."""
    part, _, rest = path.partition(".")
    name = part.rstrip("[]?")
    inner, before = value.get(name), NEW if old is NEW else (old or {}).get(name)
    where = f"{shown}.{name}" if shown else name
    if before is not NEW and (inner == before or not (inner or before)):
        return
    if part.endswith("[]"):
        for i, item in enumerate(inner or ()):
            yield from _errors(rule, rest, item, NEW, f"{where}[{i}]")
    elif rest:
        if inner is not None or not part.endswith("?"):
            absent = part.endswith("?") and before is None  # a member that an update adds has no old value below it
            yield from _errors(rule, rest, inner or {}, NEW if absent else before, where)
    elif error := next(filter(None, (check(inner, before, where) for check in rule.checks)), None):
        yield error
