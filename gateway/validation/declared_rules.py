"""Declarative rules of fields, which are checked after the handwritten rules of a kind.

As "Declarative Validation" (KEP-5073): errors of such rules come after all others, and replace a handwritten error of
the same field and reason. A field that an update does not change is not checked again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from gateway.jsontypes import JsonObject
from gateway.validation.checks import same
from gateway.validation.field import INVALID, FieldError, judged

NEW = object()
"""The old value of a field that has no old value."""


class DeclaredCheck(NamedTuple):
    """A check of a value.

    `judge` takes the value, its old value or NEW, and its path; it returns errors. `ends`: after an error, only checks
    of the field that end it, too, are made, and none below it. `of_absent`: the check is made of absent fields, too.
    `instead`: a handwritten "Invalid value" of the same field is replaced if its detail contains this text; None: if
    its detail is the same. `told`: whether the errors are told; a rule of the stage alpha ends a field silently.
    """

    judge: Callable[[Any, Any, str], Sequence[FieldError]]
    ends: bool = False
    of_absent: bool = False
    instead: str | None = None
    told: bool = True


class DeclaredRules(NamedTuple):
    """The rules of a field.

    `path` has the names of the members that lead to the field. After a name, `?` means a pointer: an empty value is
    still a value, and nothing below an absent one is checked. `[]` means each item of the list; `[key]` too, and items
    with the same key are the old ones of an update; `[=]` too, and equal items are old ones. `{}` means each value of
    the map. The rules of a type have the order of its fields.

    `gate` is a feature gate or a change that has to be on; with `!` before it, one that has to be off.
    """

    path: str
    checks: tuple[DeclaredCheck, ...]
    gate: str = ""


Found = list[tuple[FieldError, str | None]]
"""Errors, each with the text of those that it replaces."""


class _Place:
    """The checks at a place of an object, and the places below it."""

    __slots__ = ("below", "checks", "is_member", "items", "keys", "ordered", "pointer", "silent", "sparse", "values")

    def __init__(self, pointer: bool = False, *, is_member: bool = True) -> None:
        self.pointer, self.is_member, self.keys = pointer, is_member, ""
        self.checks: list[DeclaredCheck] = []
        self.ordered: list[DeclaredCheck] = []  # those that end the field first
        self.silent = False
        self.sparse = False  # whether only members are checked, and only where they are present
        self.below: dict[str, _Place] = {}
        self.items: _Place | None = None
        self.values: _Place | None = None

    def member(self, part: str) -> _Place:
        """The place of a member, or of its items or values. It is made if it is missing."""
        bare, bracket, keys = part.partition("[")
        name = bare.rstrip("?{}")
        found = self.below.get(name)
        if found is None:
            found = self.below[name] = _Place("?" in bare)
        if bracket:
            found.keys = keys.removesuffix("]")
            found.items = found = found.items or _Place(is_member=False)
        elif "{" in bare:
            found.values = found = found.values or _Place(is_member=False)
        return found

    def is_silent(self) -> bool:
        """Whether nothing is checked where the value is absent."""
        if any(check.of_absent for check in self.checks):
            return False
        return self.pointer or all(place.silent for place in self.below.values())

    def settle(self) -> None:
        """Notes what is silent, once all rules are there."""
        for place in (*self.below.values(), self.items, self.values):
            if place is not None:
                place.settle()
        self.silent = self.is_silent()
        self.sparse = bool(self.below) and not self.checks and all(place.silent for place in self.below.values())
        self.ordered = [
            *(check for check in self.checks if check.ends),
            *(check for check in self.checks if not check.ends),
        ]

    def has_nothing(self, value: Any) -> bool:
        """Whether a value has none of the members that are checked."""
        if not self.sparse or type(value) is not dict:
            return False
        for name, place in self.below.items():
            inner = value.get(name)
            if (inner is not None if place.pointer else inner) and not place.has_nothing(inner):
                return False
        return True

    def judge(self, value: Any, old: Any, path: str, found: Found) -> None:
        """Adds the errors of a value that is to be checked."""
        absent = value is None if self.pointer else self.is_member and not value
        ended = False
        for check in self.ordered:
            if (ended and not check.ends) or (absent and not check.of_absent):
                continue
            errors = check.judge(None if absent else value, old, path)
            if errors:
                ended = ended or check.ends
                if check.told:
                    found += ((error, check.instead) for error in errors)
        if ended or (absent and self.pointer):
            return
        if self.below:
            before = NEW if old is NEW or (old is None and self.pointer) else old or {}
            self._judge_members(value or {}, before, path, found)
        elif self.items is not None and value:
            self._judge_items(self.items, value, old, path, found)
        elif self.values is not None and value:
            before = {} if old is NEW or old is None else old
            for key, each in value.items():
                _changed(self.values, each, before.get(key, NEW), f"{path}[{key}]", found)

    def _judge_members(self, value: JsonObject, before: Any, path: str, found: Found) -> None:
        for name, place in self.below.items():
            inner = value.get(name)
            if place.silent and (inner is None if place.pointer else not inner):
                continue
            if place.has_nothing(inner):
                continue  # before it is compared with the old value, which takes longer
            old = NEW if before is NEW else before.get(name)
            _changed(place, inner, old, f"{path}.{name}" if path else name, found)

    def _judge_items(self, place: _Place, value: Any, old: Any, path: str, found: Found) -> None:
        key = _KEYS.get(self.keys) or _key_of(self.keys)
        known = {key(item): item for item in reversed((old is not NEW and old) or ())} if self.keys else {}
        for i, item in enumerate(value):
            before = known.get(key(item), NEW) if known else NEW
            _changed(place, item, before, f"{path}[{i}]", found)


_KEYS: dict[str, Callable[[Any], Any]] = {"=": lambda item: item}


def _key_of(names: str) -> Callable[[Any], Any]:
    keys = names.split(",")
    return lambda item: tuple(item.get(key, "") for key in keys)


def _changed(place: _Place, value: Any, old: Any, path: str, found: Found) -> None:
    """Adds the errors of a value, unless an update leaves it."""
    if old is NEW or not (same(value, old) or not (place.pointer or value or old)):
        place.judge(value, old, path, found)


class Declaration(tuple[DeclaredRules, ...]):
    """All declarative rules of a kind. It keeps their places: to find them by the rules takes longer than to judge."""

    @cached_property
    def root(self) -> _Place:
        """The place of the whole object."""
        root = _Place()
        for rule in self:
            place = root
            for part in rule.path.split("."):
                place = place.member(part)
            place.checks += rule.checks
        root.settle()
        return root


def errors_beside(
    rules: Declaration | tuple[()], found: Sequence[FieldError], obj: JsonObject, old: JsonObject | None
) -> list[FieldError]:
    """All errors of an object: those of `found` (handwritten) that are not replaced, then the declarative ones."""
    if not rules or (root := rules.root).has_nothing(obj):
        return list(found)
    judgements: Found = []

    def declared() -> list[FieldError]:
        root.judge(obj, NEW if old is None else old, "", judgements)
        return [error for error, _ in judgements]

    told, taken = list(judged(declared)), dict[tuple[str, str], set[tuple[str | None, str]]]()
    texts = {id(error): instead for error, instead in judgements}
    for error in told:
        taken.setdefault((error.reason, error.field), set()).add((texts.get(id(error)), error.detail))
    return [error for error in found if not _replaced(error, taken.get((error.reason, error.field)))] + told


def _replaced(error: FieldError, texts: set[tuple[str | None, str]] | None) -> bool:
    """Whether a handwritten error is about the fault of a declarative one of the same field and reason."""
    if texts is None or error.reason != INVALID[0]:
        return texts is not None
    given = error.detail
    return any(given == detail if instead is None else instead in given for instead, detail in texts)
