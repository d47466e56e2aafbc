"""How an admission plug-in says no."""

from __future__ import annotations

from gateway.http.status import StatusError, forbidden
from gateway.jsontypes import JsonObject
from gateway.kinds.attributes import Attributes


def refused(attributes: Attributes, obj: JsonObject | None, reason: str) -> StatusError:
    """403 for the object that is written, by its name or, before it has one, by its generateName."""
    meta = (obj or {}).get("metadata") or {}
    name = attributes.name or meta.get("name") or meta.get("generateName") or "Unknown"
    return forbidden(attributes.resource.group, attributes.resource.resource, name, reason)
