"""Chooses which faults are tried, and which answers are kept."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from gateway.release.minors import number as number_of
from tests.unit.validation.replaying import resource_of

from .asking import NAMESPACE, Base, Case, Json
from .wrongs import ABSENT, Patch, Wrongs, dotted, of_metadata

LONGEST = 8_000  # characters of the causes; a longer answer is not kept

# Answers that depend on more than the object: addresses and ports are allocated before, namespaces are looked up
_ELSEWHERE = re.compile(
    "failed to allocate|already allocated|not in the valid range|provided range|match the primary"
    "|not configured on|containing namespace"
)


def bases(document: dict[str, list[Json]], minor: str) -> Iterator[Base]:
    """The valid objects of objects.yaml that a minor has."""
    for resource, entries in document.items():
        there = [entry for entry in entries if number_of(entry.get("since", minor)) <= number_of(minor)]
        if not there:
            continue
        found = resource_of(resource, minor=minor)
        for number, entry in enumerate(there):
            name = entry.get("name", f"fault-{number}")
            if not any(mark in name for mark in ".") and found.resource in ("pods", "services", "persistentvolumes"):
                name = f"fault-{name}"
            meta = {"name": name, **({"namespace": NAMESPACE} if found.namespaced else {})}
            obj = {"apiVersion": found.api_version, "kind": found.kind, **entry["object"]}
            obj["metadata"] = {**meta, **obj.get("metadata", {})}
            yield Base(resource, name, obj, entry, minor=minor)


def cases(base: Base) -> Iterator[Case]:
    """All faults to try for an object. `old` must be set."""
    type_ = resource_of(base.resource, minor=base.minor).type
    by_hand = [dotted(changes) for changes in base.entry.get("faults", ())]
    for patch in Wrongs().of(type_, base.create):
        if _wanted(base, patch):
            yield Case(base, "create", patch)
    yield from (Case(base, "create", patch) for patch in of_metadata(False) if not base.entry.get("only"))
    yield from (Case(base, "create", patch, True) for patch in by_hand if patch[0][0][0] != "status")
    if base.old is None:
        return
    if base.entry.get("updates", True):
        patches = Wrongs(few=True).of(type_, base.old)
        yield from (Case(base, "update", patch) for patch in patches if _wanted(base, patch))
    yield from (Case(base, "update", patch) for patch in of_metadata(True) if not base.entry.get("only"))
    yield from (Case(base, "update", patch, True) for patch in by_hand if patch[0][0][0] != "status")
    for subresource in base.entry.get("by", ()):
        yield from (Case(base, subresource, patch, True) for patch in by_hand)
        yield from (Case(base, subresource, patch) for patch in Wrongs().of(type_, base.old) if _wanted(base, patch))
    if "status" in base.entry and "status" in base.old:
        status = type_.fields["status"].type
        for patch in Wrongs().of(status, base.old["status"], ("status",)):
            yield Case(base, "status", patch)
        yield from (Case(base, "status", patch, True) for patch in by_hand if patch[0][0][0] == "status")


def _wanted(base: Base, patch: Patch) -> bool:
    where = ".".join(str(part) for part in patch[-1][0])
    only, skip = base.entry.get("only"), base.entry.get("skip", ())
    if only is not None and not any(_below(where, prefix) for prefix in only):
        return False
    return not any(_below(where, prefix) for prefix in skip)


def _below(where: str, prefix: str) -> bool:
    return where == prefix or where.startswith(prefix + ".")


def rough(text: str) -> str:
    """A message without parts that vary between cases."""
    text = re.sub(r'"(?:[^"\\]|\\.)*"', '"…"', text)
    text = re.sub(r"[{\[].*[}\]]", "{…}", text, flags=re.DOTALL)
    return re.sub(r"\d+", "N", text)[:120]


def field_of(path: str) -> str:
    """A field's path without indices and keys."""
    return re.sub(r"\[[^\]]*\]", "[*]", path)


def is_judgement(case: Case) -> bool:
    """Whether the answer is from validation, and not from an earlier stage."""
    if case.code != 422 or case.reason != "Invalid" or not case.causes:
        return False
    return not any(_ELSEWHERE.search(cause[2]) for cause in case.causes)


def kept(tried: Iterable[Case]) -> tuple[list[Case], list[Case]]:
    """One fault for each field and wording, and some accepted cases similar to them."""
    seen: set[tuple[str, ...]] = set()
    faults, fields = [], set()
    alike = {"update": "create"}  # an update has the same answers as a create
    tried = list(tried)
    for case in sorted(filter(is_judgement, tried), key=_turn):
        if sum(len(cause[2]) for cause in case.causes) > LONGEST:
            continue
        place = (case.base.resource, case.via)
        told = (case.base.resource, alike.get(case.via, case.via))
        shapes = {(*told, reason, field_of(field), rough(text)) for reason, field, text in case.causes}
        fields.add((*place, _place(case)))
        if shapes - seen:
            seen |= shapes
            faults.append(case)
    accepted, near = [], set()
    for case in tried:
        key = (case.base.resource, case.via, _place(case))
        if 200 <= case.code < 300 and (case.written or (key in fields and key not in near)):
            near.add(key)
            accepted.append(case)
    return faults, accepted


def _turn(case: Case) -> tuple[bool, bool, int]:
    return case.via != "create", not case.written, len(case.causes)


def _place(case: Case) -> tuple[str, ...]:
    path, value = case.patch[-1]
    gone = "absent" if value == ABSENT else ""
    return (*("*" if isinstance(part, int) else part for part in path), gone)
