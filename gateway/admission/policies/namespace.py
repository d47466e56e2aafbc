"""The variable `namespaceObject`: the namespace of the admitted object, as expressions see it."""

from __future__ import annotations

from gateway.admission.matcher import NAMESPACES
from gateway.admission.record import Admission
from gateway.http.status import not_found
from gateway.jsontypes import JsonObject
from gateway.kinds.objects import Objects


async def namespace_of(admission: Admission, objects: Objects) -> JsonObject | None:
    """The Namespace of the admitted object; None for cluster-scoped objects, such as Namespaces.

    Raises StatusError 404 if it does not exist.
    """
    if not admission.namespace or not admission.resource.namespaced:
        return None
    found = await objects.get(NAMESPACES, "", admission.namespace)
    if found is None:
        raise not_found("", "namespaces", admission.namespace)
    return found
