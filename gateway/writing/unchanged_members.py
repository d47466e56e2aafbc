"""What a patch leaves as it is: members of an object that need not be read, compared and put in order anew.

The result of a patch shares with the object that it was applied to whatever it does not name. Of most patches, of
labels, annotations, finalizers or a status, that is most of the object. Such a member stays one value of both the old
object and the new one, and its bytes are copied. Whoever changes it in place on the way, as admission or a strategy
may, changes the old object too: that shows in its bytes, and then the write is made without sharing.
"""

from __future__ import annotations

from typing import Any

import orjson

from gateway.endpoints.endpoint import Endpoint
from gateway.jsontypes import JsonObject, dumps, identical

_TOLD_APART = frozenset({"kind", "apiVersion", "metadata"})  # members that every write looks at


class Touched(Exception):
    """What was to be kept has been changed in place."""


class Kept:
    """Members of a stored object, of the version in which writes see it, that its new version shares."""

    __slots__ = ("_bytes", "_managers", "_old")

    def __init__(self, old: JsonObject, names: list[str], managers: list[JsonObject] | None = None) -> None:
        """`managers` are the managed fields, where they are shared too: nobody changes an entry in place."""
        self._old, self._managers = old, managers
        self._bytes = {name: dumps(old[name]) for name in names}

    def __contains__(self, name: str) -> bool:
        return name in self._bytes

    def apart_from(self, value: JsonObject) -> JsonObject:
        """A value without these members."""
        others = value.copy()
        for name in self._bytes:
            others.pop(name, None)
        if self._managers is not None:
            others["metadata"] = others["metadata"].copy()
            del others["metadata"]["managedFields"]
        return others

    def put_into(self, new: JsonObject) -> None:
        """Gives the new object these members."""
        for name in self._bytes:
            new[name] = self._old[name]
        if self._managers is not None:
            new.setdefault("metadata", {})["managedFields"] = self._managers

    def is_intact(self) -> bool:
        """Whether nobody has changed them."""
        return all(dumps(self._old.get(name)) == known for name, known in self._bytes.items())

    def check(self) -> None:
        """Raises Touched when somebody has changed them."""
        if not self.is_intact():
            raise Touched

    def is_all_of(self, new: JsonObject) -> bool:
        """Whether the new object is the same JSON as the old one."""
        rest, before = new.copy(), self._old.copy()
        for name in self._bytes:
            if rest.get(name) is before[name]:
                del rest[name], before[name]
        return identical(rest, before)

    def spliced(self, new: JsonObject) -> JsonObject:
        """The new object with the bytes of these members in their places; for the encoder, which copies them."""
        found: dict[str, Any] = dict(new)
        for name, known in self._bytes.items():
            if found.get(name) is self._old[name]:
                found[name] = orjson.Fragment(known)
        return found


def keeps(endpoint: Endpoint) -> bool:
    """Whether patches of what an endpoint serves may share: it is stored as it is served, by a type that is known."""
    resource = endpoint.resource
    return not (
        resource.defined
        or resource.foreign_kind
        or endpoint.to_storage is not None
        or endpoint.object_hooks is not None
    )


def kept(old: JsonObject, patched: Any) -> Kept | None:
    """What a patch has kept of an object; None where that is nothing worth it."""
    if type(patched) is not dict:
        return None
    names = [
        name
        for name, member in patched.items()
        if member and type(member) in (dict, list) and member is old.get(name) and name not in _TOLD_APART
    ]
    return Kept(old, names, _managers(old, patched)) if names else None


def _managers(old: JsonObject, patched: JsonObject) -> list[JsonObject] | None:
    """The managed fields of an object, if a patch has left them alone."""
    managers: list[JsonObject] | None = old["metadata"].get("managedFields")
    metadata = patched.get("metadata")
    return managers if managers and type(metadata) is dict and metadata.get("managedFields") is managers else None
