"""Members of JSON objects that somebody else has written: of another type, or missing, they count as empty."""

from __future__ import annotations

from gateway.jsontypes import JsonObject


def object_in(value: JsonObject, name: str) -> JsonObject:
    """The object that a member is, {} for anything else."""
    found = value.get(name)
    return found if isinstance(found, dict) else {}


def text_in(value: JsonObject, name: str) -> str:
    """The text that a member is, "" for anything else."""
    found = value.get(name)
    return found if isinstance(found, str) else ""
