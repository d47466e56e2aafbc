"""Restricted: containers drop all capabilities and add back nothing but the binding of low ports."""

from __future__ import annotations

from gateway.admission.podsecurity.check import (
    Check,
    PodUnderCheck,
    Revision,
    Violation,
    of_containers,
    quoted,
    unless_windows,
)
from gateway.admission.podsecurity.levels import Level


def _violation(pod: PodUnderCheck) -> Violation | None:
    keeping, adding, added = [], [], set()
    for name, context, _ in pod.containers:
        capabilities = context.get("capabilities") or {}
        if "ALL" not in (capabilities.get("drop") or ()):
            keeping.append(name)
        forbidden = set(capabilities.get("add") or ()) - {"NET_BIND_SERVICE"}
        if forbidden:
            adding.append(name)
            added |= forbidden
    details = []
    if keeping:
        details.append(f'{of_containers(keeping)} must set securityContext.capabilities.drop=["ALL"]')
    if adding:
        what = quoted(sorted(added))
        details.append(f"{of_containers(adding)} must not include {what} in securityContext.capabilities.add")
    return Violation("unrestricted capabilities", "; ".join(details)) if details else None


_BASELINE = ("capabilities_baseline",)
CHECK = Check(
    "capabilities_restricted",
    Level.RESTRICTED,
    (Revision(22, _violation, _BASELINE), Revision(25, unless_windows(_violation), _BASELINE)),
)
