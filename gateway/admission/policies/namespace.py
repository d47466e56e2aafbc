"""The variable `namespaceObject`: the namespace of the admitted object, as expressions see it."""

from __future__ import annotations

from gateway.admission.matching import NAMESPACES
from gateway.admission.record import Admission
from gateway.http.status import not_found
from gateway.jsontypes import JsonObject
from gateway.kinds.objects import Objects


async def namespace_of(admission: Admission, objects: Objects) -> JsonObject | None:
    """The namespace that an object is in; None for Namespaces and others that are in none.

    Raises StatusError 404 where there is none of that name.
    """
    if not admission.namespace or not admission.resource.namespaced:
        return None
    found = await objects.get(NAMESPACES, "", admission.namespace)
    if found is None:
        raise not_found("", "namespaces", admission.namespace)
    return found
