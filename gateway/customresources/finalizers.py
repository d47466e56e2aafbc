"""Warnings about new finalizers of custom objects that have no domain in their names."""

from __future__ import annotations

from collections.abc import Iterator

from gateway.jsontypes import JsonObject
from gateway.validation.field import go_quote
from gateway.validation.names import is_qualified_name
from gateway.validation.objectmeta import STANDARD_FINALIZERS

_PREFER = "prefer a domain-qualified finalizer name"
_AVOID = "to avoid accidental conflicts with other finalizer writers"


def finalizer_warnings(obj: JsonObject, old: JsonObject | None) -> Iterator[str]:
    """Warnings about the finalizers that an object has and `old` does not have, sorted by name."""
    before = set() if old is None else set(old["metadata"].get("finalizers") or ())
    added = sorted(set(obj["metadata"].get("finalizers") or ()) - before)
    return (f"metadata.finalizers: {go_quote(name)}: {text}" for name in added for text in _problems(name))


def _problems(name: str) -> list[str]:
    found = list(is_qualified_name(name))
    if "/" not in name and name not in STANDARD_FINALIZERS:
        found.append(f"{_PREFER} including a path (/) {_AVOID}" if "." in name else f"{_PREFER} {_AVOID}")
    return found
