"""The refusals of admission plug-ins: 403 Forbidden in kube-apiserver's words."""

from __future__ import annotations

from collections.abc import Sequence

from gateway.admission.record import Admission
from gateway.http.status import StatusError, forbidden
from gateway.jsontypes import JsonObject


def joined(problems: Sequence[str]) -> str:
    """Joins problems to one reason, without duplicates. Several are in brackets, as in apimachinery's Aggregate."""
    different = list(dict.fromkeys(problems))
    return different[0] if len(different) == 1 else f"[{', '.join(different)}]"


def refused(admission: Admission, obj: JsonObject | None, reason: str) -> StatusError:
    """A 403 for the written object, by its name or, before it has one, by its generateName."""
    meta = (obj or {}).get("metadata") or {}
    name = admission.name or meta.get("name") or meta.get("generateName") or "Unknown"
    return forbidden(admission.resource.group, admission.resource.resource, name, reason)
