"""Members of JSON objects from clients or other servers: a missing member or one of a wrong type counts as empty."""

from __future__ import annotations

from gateway.jsontypes import JsonObject


def object_in(value: JsonObject, name: str) -> JsonObject:
    """The member's value if it is an object; {} otherwise."""
    found = value.get(name)
    return found if isinstance(found, dict) else {}


def text_in(value: JsonObject, name: str) -> str:
    """The member's value if it is a string; "" otherwise."""
    found = value.get(name)
    return found if isinstance(found, str) else ""
