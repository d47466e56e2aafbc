"""Decides which names of a CustomResourceDefinition are accepted: those that no other CRD of its group has.

This is the condition NamesAccepted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gateway.customresources.definition import ESTABLISHED, is_true
from gateway.jsontypes import JsonObject
from gateway.validation.field import go_quote

_SINGLE = (("plural", "Plural"), ("singular", "Singular"))
_KINDS = (("kind", "Kind"), ("listKind", "ListKind"))


@dataclass(frozen=True, slots=True)
class AcceptedNames:
    """The accepted names of a CRD, and the reason and message of a conflict ("" if there is none)."""

    accepted: JsonObject
    reason: str = ""
    message: str = ""


def claim(definition: JsonObject, others: Iterable[JsonObject]) -> AcceptedNames:
    """The claim of a CRD among the `others` of its group.

    If several CRDs wait for a free name, the first by `turn` gets it. Replicas look at the CRDs at different times and
    in different orders, so the result must not depend on either.
    """
    others = list(others)
    found = _among(definition, others)
    if found.reason:
        return found
    everybody = [*others, definition]
    earlier = [one for one in others if _comes_first(one, definition) and not _among(one, everybody).reason]
    return _among(definition, [*others, *map(_as_if_named, earlier)]) if earlier else found


def waits(definition: JsonObject) -> bool:
    """Whether the accepted names of a CRD are not yet those of its spec."""
    return bool(definition["spec"].get("names") != (definition.get("status") or {}).get("acceptedNames"))


def turn(definition: JsonObject) -> tuple[int, str, int, str]:
    """The sort key of waiting CRDs: first those with conditions (a name was refused), oldest first; then new ones."""
    metadata = definition["metadata"]
    if (definition.get("status") or {}).get("conditions"):
        return 0, metadata.get("creationTimestamp") or "", 0, metadata["name"]
    return 1, "", int(metadata.get("resourceVersion") or 0), metadata["name"]


def _comes_first(one: JsonObject, other: JsonObject) -> bool:
    given_up = one["metadata"].get("deletionTimestamp") and not is_true(one, ESTABLISHED)
    return waits(one) and not given_up and turn(one) < turn(other)


def _as_if_named(definition: JsonObject) -> JsonObject:
    return {**definition, "status": {"acceptedNames": definition["spec"]["names"]}}


def _among(definition: JsonObject, others: Iterable[JsonObject]) -> AcceptedNames:
    """The claim of a CRD, if only the accepted names of the others count."""
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
    return AcceptedNames(accepted, reason, message)


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
    before = frozenset(accepted.get("shortNames") or ())
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
