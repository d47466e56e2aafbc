"""Finds the default class: the newest one with an is-default-class annotation."""

from __future__ import annotations

from gateway.jsontypes import JsonObject


def newest_default(classes: list[JsonObject], *annotations: str) -> str:
    """The name of the default class, the first by name among equally new ones; "" if there is none."""
    defaults = [
        each["metadata"]
        for each in classes
        if any((each["metadata"].get("annotations") or {}).get(key) == "true" for key in annotations)
    ]
    if not defaults:
        return ""
    newest = max(meta.get("creationTimestamp", "") for meta in defaults)
    return str(min(meta["name"] for meta in defaults if meta.get("creationTimestamp", "") == newest))
