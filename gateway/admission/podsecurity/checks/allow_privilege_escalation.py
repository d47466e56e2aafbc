"""Restricted: no process of a container may gain more privileges than its parent has."""

from __future__ import annotations

from gateway.admission.podsecurity.check import (
    Check,
    PodUnderCheck,
    Revision,
    Violation,
    of_containers,
    unless_windows,
)
from gateway.admission.podsecurity.levels import Level


def _violation(pod: PodUnderCheck) -> Violation | None:
    bad = [name for name, context, _ in pod.containers if context.get("allowPrivilegeEscalation") is not False]
    if not bad:
        return None
    detail = f"{of_containers(bad)} must set securityContext.allowPrivilegeEscalation=false"
    return Violation("allowPrivilegeEscalation != false", detail)


CHECK = Check(
    "allowPrivilegeEscalation",
    Level.RESTRICTED,
    (Revision(8, _violation), Revision(25, unless_windows(_violation))),
)
