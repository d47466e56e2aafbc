"""Converts an object to the versions in which managers own its fields."""

from __future__ import annotations

from collections.abc import Callable

from gateway.jsontypes import JsonObject
from gateway.schema.types import Type

ToVersion = Callable[[JsonObject, str], "tuple[JsonObject, Type] | None"]
"""Takes an object and an apiVersion. Returns the object in that version, and its type.

Returns None for a version that does not exist any more: its managers are dropped. Raises ValueError if the conversion
fails.
"""


class InVersions:
    """One object in several versions. It is converted to each version at most once."""

    __slots__ = ("_convert", "_converted", "_own", "obj")

    def __init__(self, obj: JsonObject, type_: Type, api_version: str, convert: ToVersion | None) -> None:
        self.obj = obj
        self._own = (api_version, type_)
        self._convert = convert
        self._converted: dict[str, tuple[JsonObject, Type] | None] | None = None  # None: few objects need it

    @property
    def of_one_version(self) -> bool:
        """Whether the kind has one version only."""
        return self._convert is None

    def at(self, version: str) -> tuple[JsonObject, Type] | None:
        """The object in a version, as `ToVersion` returns it. Raises ValueError."""
        api_version, type_ = self._own
        if version == api_version:
            return self.obj, type_
        if self._converted is None:
            self._converted = {}
        if version not in self._converted:
            assert self._convert is not None  # kinds with one version have no managers in others
            self._converted[version] = self._convert(self.obj, version)
        return self._converted[version]

    def remembered(self, entries: list[JsonObject]) -> list[JsonObject]:
        """The entries of managedFields whose versions exist; the same list if all do. Raises ValueError."""
        if self._convert is None:
            return entries
        api_version = self._own[0]
        for entry in entries:
            if entry["apiVersion"] != api_version:
                return [each for each in entries if self.at(each["apiVersion"]) is not None]
        return entries
