"""Whether an update of a pod is reviewed: only if it changes a field that the standards look at."""

from __future__ import annotations

from gateway.jsontypes import JsonObject


def is_significant(spec: JsonObject, before: JsonObject) -> bool:
    """Whether an update changes the list of images of containers or init containers, or adds or changes an ephemeral
    container.
    """
    for key in ("containers", "initContainers"):
        if _images(spec, key) != _images(before, key):
            return True
    known = {each.get("name"): each.get("image") for each in before.get("ephemeralContainers") or ()}
    return any(
        each.get("name") not in known or known[each.get("name")] != each.get("image")
        for each in spec.get("ephemeralContainers") or ()
    )


def _images(spec: JsonObject, key: str) -> list[str | None]:
    return [container.get("image") for container in spec.get(key) or ()]
