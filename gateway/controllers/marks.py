"""Changes finalizers and owner references in place. Each function returns whether it changed the object."""

from __future__ import annotations

from collections.abc import Collection

from gateway.jsontypes import JsonObject


def without_owners(obj: JsonObject, uids: Collection[str]) -> bool:
    """Removes the references to the owners with these uids."""
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
    """Removes a finalizer."""
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
    """Sets blockOwnerDeletion to false in all owner references."""
    blocking = [each for each in obj["metadata"].get("ownerReferences") or () if each.get("blockOwnerDeletion")]
    for reference in blocking:
        reference["blockOwnerDeletion"] = False
    return bool(blocking)


def with_finalizer(obj: JsonObject, finalizer: str) -> bool:
    """Adds a finalizer."""
    finalizers = obj["metadata"].setdefault("finalizers", [])
    if finalizer in finalizers:
        return False
    finalizers.append(finalizer)
    return True
