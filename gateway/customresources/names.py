"""Which names a definition gets: those that no other one of its group has ("NamesAccepted")."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gateway.jsontypes import JsonObject
from gateway.validation.field import go_quote

_SINGLE = (("plural", "Plural"), ("singular", "Singular"))
_KINDS = (("kind", "Kind"), ("listKind", "ListKind"))


@dataclass(frozen=True, slots=True)
class Claim:
    """The names that a definition gets, and which ones it does not get for which reason ("" for none)."""

    accepted: JsonObject
    reason: str = ""
    message: str = ""


def claim(definition: JsonObject, others: Iterable[JsonObject]) -> Claim:
    """What becomes of a definition's names among those that `others` of its group have been given."""
    wanted = definition["spec"]["names"]
    accepted = dict((definition.get("status") or {}).get("acceptedNames") or {})
    resources, kinds = _taken(others)
    reason = message = ""
    for key, title in _SINGLE:
        if problem := _settle(key, wanted, accepted, resources):
            reason, message = f"{title}Conflict", problem
    if problem := _short_names(wanted, accepted, resources):
        reason, message = "ShortNamesConflict", problem
    for key, title in _KINDS:
        if problem := _settle(key, wanted, accepted, kinds):
            reason, message = f"{title}Conflict", problem
    _set(accepted, "categories", wanted.get("categories"))
    return Claim(accepted, reason, message)


def comes_first(one: JsonObject, other: JsonObject) -> bool:
    """Whether a definition that waits for its names has its turn before another.

    Replicas see changes at different times. For two definitions that are new, all of them have to come to the same.
    """
    if (one.get("status") or {}).get("conditions"):
        return False
    return int(one["metadata"].get("resourceVersion") or 0) < int(other["metadata"].get("resourceVersion") or 0)


def as_if_named(definition: JsonObject) -> JsonObject:
    """A definition as if it had been given all the names that it wants."""
    return {**definition, "status": {"acceptedNames": definition["spec"]["names"]}}


def _taken(others: Iterable[JsonObject]) -> tuple[set[str], set[str]]:
    resources, kinds = set[str](), set[str]()
    for other in others:
        names = (other.get("status") or {}).get("acceptedNames") or {}
        resources |= {names.get("plural", ""), names.get("singular", ""), *(names.get("shortNames") or ())}
        kinds |= {names.get("kind", ""), names.get("listKind", "")}
    return resources - {""}, kinds - {""}


def _settle(key: str, wanted: JsonObject, accepted: JsonObject, taken: set[str]) -> str:
    name = wanted.get(key, "")
    if name != accepted.get(key, "") and name in taken:
        return f"{go_quote(name)} is already in use"
    _set(accepted, key, name)
    return ""


def _short_names(wanted: JsonObject, accepted: JsonObject, taken: set[str]) -> str:
    names: Sequence[str] = wanted.get("shortNames") or ()
    before = accepted.get("shortNames") or ()
    problems = [f"{go_quote(name)} is already in use" for name in names if name not in before and name in taken]
    if problems:
        return problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
    _set(accepted, "shortNames", wanted.get("shortNames"))
    return ""


def _set(accepted: JsonObject, key: str, value: object) -> None:
    if value:
        accepted[key] = value
    else:
        accepted.pop(key, None)
