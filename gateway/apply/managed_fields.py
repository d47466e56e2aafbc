"""metadata.managedFields of ordinary writes: who last changed which field (API Concepts, "Server Side Apply")."""

from __future__ import annotations

from collections.abc import Callable

from gateway.jsontypes import JsonObject
from gateway.schema.types import Type

Convert = Callable[[JsonObject, str], "tuple[JsonObject, Type] | None"]
"""Takes an object and an apiVersion, returns it in that version with its type, or None if there is no such version."""


def update_managed(
    new: JsonObject,
    old: JsonObject | None,
    type_: Type,
    *,
    manager: str,
    operation: str = "Update",
    api_version: str,
    subresource: str = "",
    now: str,
    reset: tuple[tuple[str, ...], ...] = (),
    convert: Convert | None = None,
) -> None:
    """Sets `new["metadata"]["managedFields"]` in place for a create (`old` is None), update or patch."""
    raise NotImplementedError


def keep_timestamps(new: JsonObject, old: JsonObject) -> None:
    """Puts the old times back into `new`'s managedFields when nothing else than times differs from `old`."""
    raise NotImplementedError
