"""An object in the versions in which managers own its fields."""

from __future__ import annotations

from collections.abc import Callable

from gateway.jsontypes import JsonObject
from gateway.schema.types import Type

ToVersion = Callable[[JsonObject, str], "tuple[JsonObject, Type] | None"]
"""Takes an object and an apiVersion, returns it in that version with its type.

None for a version that is forgotten together with whoever owns fields in it; ValueError where nothing can be told.
"""


class InVersions:
    """One object in several versions, converted to each once."""

    __slots__ = ("_convert", "_converted", "_own", "obj")

    def __init__(self, obj: JsonObject, type_: Type, api_version: str, convert: ToVersion | None) -> None:
        self.obj = obj
        self._own = (api_version, type_)
        self._convert = convert
        self._converted: dict[str, tuple[JsonObject, Type] | None] | None = None  # few objects have managers of others

    @property
    def of_one_version(self) -> bool:
        """Whether it is the same in whatever version."""
        return self._convert is None

    def at(self, version: str) -> tuple[JsonObject, Type] | None:
        """The object in a version, as `ToVersion` returns it. Raises ValueError."""
        api_version, type_ = self._own
        if version == api_version:
            return self.obj, type_
        if self._converted is None:
            self._converted = {}
        if version not in self._converted:
            assert self._convert is not None  # or it is of one version
            self._converted[version] = self._convert(self.obj, version)
        return self._converted[version]

    def remembered(self, entries: list[JsonObject]) -> list[JsonObject]:
        """The entries of managedFields without those of forgotten versions; itself with all. Raises ValueError."""
        if self._convert is None:
            return entries
        api_version = self._own[0]
        for entry in entries:
            if entry["apiVersion"] != api_version:
                return [each for each in entries if self.at(each["apiVersion"]) is not None]
        return entries
