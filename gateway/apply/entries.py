"""The entries of metadata.managedFields: reads, identifies, sorts and limits them."""

from __future__ import annotations

from typing import Any, NamedTuple

from gateway.apply.field_set import FieldSet, children_of, from_wire, union_of
from gateway.apply.path_element import quoted
from gateway.jsontypes import JsonObject

MAX_UPDATE_MANAGERS = 10
"""The greatest number of entries with the operation Update. If there are more, the oldest are merged."""

_ANCIENT = "ancient-changes"


class ManagerIdentity(NamedTuple):
    """The identity of an entry's manager. For the operation Apply, the version is "": it does not matter."""

    manager: str
    operation: str
    api_version: str
    subresource: str

    def __str__(self) -> str:
        """The JSON of kube-apiserver, which sorts managers by it."""
        members = {
            "manager": self.manager,
            "operation": self.operation,
            "apiVersion": self.api_version,
            "subresource": self.subresource,
        }
        return "{" + ",".join(f"{quoted(name)}:{quoted(value)}" for name, value in members.items() if value) + "}"


def identity_of(entry: JsonObject) -> ManagerIdentity:
    operation = entry["operation"]
    version = "" if operation == "Apply" else entry["apiVersion"]
    return ManagerIdentity(entry.get("manager", ""), operation, version, entry.get("subresource", ""))


def new_entry(identity: ManagerIdentity, api_version: str, time: str | None, fields: FieldSet) -> JsonObject:
    """An entry of managedFields with its members in Go's order."""
    entry: JsonObject = {"manager": identity.manager} if identity.manager else {}
    entry |= {"operation": identity.operation, "apiVersion": api_version}
    if time:
        entry["time"] = time
    entry["fieldsType"] = "FieldsV1"
    entry["fieldsV1"] = fields
    if identity.subresource:
        entry["subresource"] = identity.subresource
    return entry


def is_reset(sent: Any) -> bool:
    """Whether the managedFields of a client ask to drop all managers: an empty list, or one empty entry."""
    return isinstance(sent, list) and (not sent or (len(sent) == 1 and not any(_values(sent[0]))))


def _values(entry: Any) -> list[Any]:
    return list(entry.values()) if isinstance(entry, dict) else [entry]


def read(sent: list[Any]) -> list[JsonObject]:
    """A client's entries in canonical form. Of entries with the same identity, the last counts. Raises ValueError."""
    found: dict[ManagerIdentity, JsonObject] = {}
    for i, entry in enumerate(sent):
        if entry.get("operation") not in ("Apply", "Update"):
            raise ValueError("operation must be `Apply` or `Update`")
        if not entry.get("apiVersion"):
            raise ValueError("apiVersion must not be empty")
        fields_type = entry.get("fieldsType", "")
        if not fields_type:
            raise ValueError(f"missing fieldsType in managed fields entry {i}")
        if fields_type != "FieldsV1":
            raise ValueError(f'invalid fieldsType "{fields_type}" in managed fields entry {i}')
        identity = identity_of(entry)
        fields = children_of(from_wire(entry.get("fieldsV1")))  # the object itself is not a field
        found[identity] = new_entry(identity, entry["apiVersion"], entry.get("time"), fields)
    return list(found.values())


def in_order(entries: list[JsonObject]) -> list[JsonObject]:
    """Sorts entries: first by operation (Apply before Update), then by time, then by name."""
    return sorted(entries, key=_order) if len(entries) > 1 else entries


def _order(entry: JsonObject) -> tuple[str, str, str, str, str]:
    return (
        entry["operation"],
        entry.get("time") or "",
        entry.get("manager", ""),
        entry["apiVersion"],
        entry.get("subresource", ""),
    )


def capped(entries: list[JsonObject]) -> list[JsonObject]:
    """Merges the oldest Update entries, separately for each version, until there are no more than allowed."""
    updates = [entry for entry in entries if entry["operation"] == "Update"]
    excess = len(updates) - MAX_UPDATE_MANAGERS
    if excess <= 0:
        return entries
    updates.sort(key=lambda entry: (entry.get("time") or "", str(identity_of(entry))))
    kept = {identity_of(entry): entry for entry in entries}
    first: dict[str, ManagerIdentity] = {}
    merged: dict[str, list[FieldSet]] = {}
    times: dict[str, str | None] = {}
    for entry in updates:
        if excess == 0:
            break
        identity, version = identity_of(entry), entry["apiVersion"]
        if version not in first:
            first[version] = identity
            continue
        if version not in merged:
            before = kept.get(ManagerIdentity(_ANCIENT, "Update", version, "")) or kept.pop(first[version])
            merged[version] = [before["fieldsV1"]]
        merged[version].append(entry["fieldsV1"])
        times[version] = entry.get("time")
        kept.pop(identity, None)
        excess -= 1
    for version, sets in merged.items():
        bucket = ManagerIdentity(_ANCIENT, "Update", version, "")
        kept[bucket] = new_entry(bucket, version, times[version], union_of(sets))
    return list(kept.values())
