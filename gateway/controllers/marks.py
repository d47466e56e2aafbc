"""Changes of finalizers and owner references. Each function returns whether it changed something."""

from __future__ import annotations

from collections.abc import Collection

from gateway.jsontypes import JsonObject


def without_owners(obj: JsonObject, uids: Collection[str]) -> bool:
    """Takes the references to some owners off an object; whether it had any."""
    references = obj["metadata"].get("ownerReferences") or []
    kept = [reference for reference in references if reference.get("uid") not in uids]
    if len(kept) == len(references):
        return False
    if kept:
        obj["metadata"]["ownerReferences"] = kept
    else:
        del obj["metadata"]["ownerReferences"]
    return True


def without_finalizer(obj: JsonObject, finalizer: str) -> bool:
    """Takes a finalizer off an object; whether it had it."""
    finalizers = obj["metadata"].get("finalizers") or []
    if finalizer not in finalizers:
        return False
    kept = [name for name in finalizers if name != finalizer]
    if kept:
        obj["metadata"]["finalizers"] = kept
    else:
        del obj["metadata"]["finalizers"]
    return True


def unblocked(obj: JsonObject) -> bool:
    """Removes blockOwnerDeletion from an object's owner references; whether one had it."""
    blocking = [each for each in obj["metadata"].get("ownerReferences") or () if each.get("blockOwnerDeletion")]
    for reference in blocking:
        reference["blockOwnerDeletion"] = False
    return bool(blocking)


def with_finalizer(obj: JsonObject, finalizer: str) -> bool:
    """Puts a finalizer on an object."""
    finalizers = obj["metadata"].setdefault("finalizers", [])
    if finalizer in finalizers:
        return False
    finalizers.append(finalizer)
    return True
