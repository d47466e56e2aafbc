"""An object in the versions in which managers own its fields."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gateway.jsontypes import JsonObject
from gateway.schema.types import Type

ToVersion = Callable[[JsonObject, str], "tuple[JsonObject, Type] | None"]
"""Takes an object and an apiVersion, returns it in that version with its type.

None for a version that is forgotten together with whoever owns fields in it; ValueError where nothing can be told.
"""


class InVersions:
    """One object, converted once a version."""

    def __init__(self, obj: JsonObject, type_: Type, api_version: str, convert: ToVersion | None) -> None:
        self.obj = obj
        self._convert = convert
        self._found: dict[str, tuple[JsonObject, Type] | None] = {api_version: (obj, type_)}

    @property
    def of_one_version(self) -> bool:
        """Whether it is the same in whatever version."""
        return self._convert is None

    def at(self, version: str) -> tuple[JsonObject, Type] | None:
        """The object in a version, as `ToVersion` returns it. Raises ValueError."""
        if version not in self._found:
            assert self._convert is not None  # or it is of one version
            self._found[version] = self._convert(self.obj, version)
        return self._found[version]

    def remembered(self, entries: Sequence[JsonObject]) -> list[JsonObject]:
        """The entries of managedFields without those of forgotten versions. Raises ValueError."""
        if self.of_one_version:
            return list(entries)
        return [entry for entry in entries if self.at(entry["apiVersion"]) is not None]
