"""How an admission plug-in says no."""

from __future__ import annotations

from gateway.admission.record import Admission
from gateway.http.status import StatusError, forbidden
from gateway.jsontypes import JsonObject


def refused(admission: Admission, obj: JsonObject | None, reason: str) -> StatusError:
    """403 for the object that is written, by its name or, before it has one, by its generateName."""
    meta = (obj or {}).get("metadata") or {}
    name = admission.name or meta.get("name") or meta.get("generateName") or "Unknown"
    return forbidden(admission.resource.group, admission.resource.resource, name, reason)
