"""Members that a patch does not change: they need not be decoded, compared and encoded again.

The result of a patch shares with the old object all values that the patch does not name. For most patches, of labels,
annotations, finalizers or a status, that is most of the object. Such a member stays one value in both objects, and its
encoded bytes are copied. If admission or a strategy changes it in place, the old object changes, too. A comparison of
the bytes detects that, and the write is repeated without sharing.
"""

from __future__ import annotations

from typing import Any

import orjson

from gateway.endpoints.endpoint import Endpoint
from gateway.jsontypes import JsonObject, dumps, identical
from gateway.schema.types import Type, compiled, is_instant

_TOLD_APART = frozenset({"kind", "apiVersion", "metadata"})  # never shared, since every write reads or changes them

_TOLD_AT_ONCE = ("labels", "annotations", "managedFields")
"""Members of the metadata that have no numbers, so that Python's == says whether they are the same JSON."""


class Touched(Exception):
    """A shared member was changed in place."""


class UnchangedMembers:
    """The members of a stored object that the new object shares."""

    __slots__ = ("_bytes", "_managers", "_old")

    def __init__(self, old: JsonObject, names: list[str], managers: list[JsonObject] | None = None) -> None:
        """`names` are the shared members. `managers` are the managedFields, if they are shared, too; their entries are
        never changed in place.
        """
        self._old, self._managers = old, managers
        self._bytes = {name: dumps(old[name]) for name in names}

    def __contains__(self, name: object) -> bool:
        return name in self._bytes

    def apart_from(self, value: JsonObject) -> JsonObject:
        """A copy of a value without the shared members."""
        others = value.copy()
        for name in self._bytes:
            others.pop(name, None)
        if self._managers is not None:
            others["metadata"] = others["metadata"].copy()
            del others["metadata"]["managedFields"]
        return others

    def put_into(self, new: JsonObject) -> None:
        """Adds the shared members to the new object."""
        for name in self._bytes:
            new[name] = self._old[name]
        if self._managers is not None:
            new.setdefault("metadata", {})["managedFields"] = self._managers

    def is_intact(self) -> bool:
        """Whether the shared members are unchanged."""
        return all(dumps(self._old.get(name)) == known for name, known in self._bytes.items())

    def check(self) -> None:
        """Raises Touched if a shared member was changed."""
        if not self.is_intact():
            raise Touched

    def is_all_of(self, new: JsonObject) -> bool:
        """Whether the new object is the same JSON as the old one."""
        after, earlier = new["metadata"], self._old["metadata"]
        if any(after.get(name) != earlier.get(name) for name in _TOLD_AT_ONCE):
            return False
        rest, before = new.copy(), self._old.copy()
        for name in self._bytes:
            if rest.get(name) is before[name]:
                del rest[name], before[name]
        return identical(rest, before)

    def spliced(self, new: JsonObject) -> JsonObject:
        """The new object with the encoded bytes of the shared members in their places, which the encoder copies."""
        found: dict[str, Any] = dict(new)
        for name, known in self._bytes.items():
            if found.get(name) is self._old[name]:
                found[name] = orjson.Fragment(known)
        return found


def keeps(endpoint: Endpoint) -> bool:
    """Whether patches of an endpoint may share members: for built-in kinds whose storage version is the served one,
    without hooks.
    """
    resource = endpoint.resource
    return not (
        resource.defined
        or resource.foreign_kind
        or endpoint.to_storage is not None
        or endpoint.object_hooks is not None
    )


def holds_zero_time(type_: Type, value: bytes) -> bool:
    """Whether a stored object has the zero time in an optional field. A patch removes it: its JSON is null."""
    return b'":null' in value and any(name in value for name in _zero_times(type_))


@compiled
def _zero_times(type_: Type) -> tuple[bytes, ...]:
    members = (field.type for name, field in type_.fields.items() if name != "metadata")
    names = set[str]().union(*(_times(member, set()) for member in members))
    return tuple(f'"{name}":null'.encode() for name in sorted(names))


def _times(type_: Type, seen: set[Type]) -> set[str]:
    """The names of the optional times in a type."""
    if type_ in seen:
        return set()
    seen.add(type_)
    found = {each.name for each in type_.fields.values() if is_instant(each)}
    below = [each.type for each in type_.fields.values()] + ([type_.elem] if type_.elem is not None else [])
    return found.union(*(_times(each, seen) for each in below))


def kept(old: JsonObject | None, patched: Any) -> UnchangedMembers | None:
    """The members that a patch's result shares with the old object; None if there are none."""
    if old is None or type(patched) is not dict:
        return None
    names = [
        name
        for name, member in patched.items()
        if member and type(member) in (dict, list) and member is old.get(name) and name not in _TOLD_APART
    ]
    return UnchangedMembers(old, names, _managers(old, patched)) if names else None


def _managers(old: JsonObject, patched: JsonObject) -> list[JsonObject] | None:
    """The managedFields of an object, if the patch has not changed them."""
    managers: list[JsonObject] | None = old["metadata"].get("managedFields")
    metadata = patched.get("metadata")
    return managers if managers and type(metadata) is dict and metadata.get("managedFields") is managers else None
