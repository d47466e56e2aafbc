"""Rules that stand beside a field of a type, and are checked after those that are written for its kind.

As "Declarative Validation" (KEP-5073): an error of such a rule stands after all others, and in the place of one of the
same field and reason. What an update does not change is not checked again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from gateway.jsontypes import JsonObject
from gateway.validation.field import INVALID, FieldError, invalid, judged, not_supported, too_many
from gateway.validation.field import required as missing
from gateway.validation.objectmeta import IMMUTABLE

NEW = object()
"""What stands for the old value where there is none to compare with."""

Check = Callable[[Any, Any, str], FieldError | None]
"""Takes a value, the old one or NEW, and the path; tells what is wrong."""


class Declared(NamedTuple):
    """The rules of a field, of which the first that does not hold is told.

    `path` has the members that lead to it: `[]` stands for each item of a list, `?` for a member that may be absent:
    then nothing below it is checked. `instead` is the detail of the error that it replaces, where that has other words.
    """

    path: str
    checks: tuple[Check, ...]
    instead: str = ""


def required(value: Any, old: Any, path: str) -> FieldError | None:
    return None if value else missing(path)


def immutable(value: Any, old: Any, path: str) -> FieldError | None:
    return None if old is NEW else invalid(path, None, IMMUTABLE)


def minimum(least: int) -> Check:
    """A number is at least this, where it is given."""

    def check(value: Any, old: Any, path: str) -> FieldError | None:
        wrong = isinstance(value, int) and value < least
        return invalid(path, value, f"must be greater than or equal to {least}") if wrong else None

    return check


def at_most(items: int) -> Check:
    """A list has no more items."""

    def check(value: Any, old: Any, path: str) -> FieldError | None:
        return too_many(path, len(value), items) if value and len(value) > items else None

    return check


def one_of(*values: str) -> Check:
    """A text is one of these."""

    def check(value: Any, old: Any, path: str) -> FieldError | None:
        return not_supported(path, value, values) if value not in values else None

    return check


def at_most_one(name: str, *types: str) -> Check:
    """At most one of these types is in the list `name`; an update that leaves them as they were is not refused."""
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
    """All errors of an object: those found before, without what is declared as well, and then the declared ones."""
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
    """What two errors of the same fault have in common."""
    detail = (instead or error.detail) if error.reason == INVALID[0] else ""
    return error.reason, error.field, detail


def _errors(rule: Declared, path: str, value: Any, old: Any, shown: str) -> Iterator[FieldError]:
    """The errors of what a path leads to."""
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
            absent = part.endswith("?") and before is None  # what an update adds is new, with all that is below it
            yield from _errors(rule, rest, inner or {}, NEW if absent else before, where)
    elif error := next(filter(None, (check(inner, before, where) for check in rule.checks)), None):
        yield error
