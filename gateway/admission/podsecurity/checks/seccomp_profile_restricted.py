"""Restricted: a seccomp profile is named, for the pod or for each container."""

from __future__ import annotations

from gateway.admission.podsecurity.check import (
    Check,
    PodUnderCheck,
    Revision,
    Violation,
    of_containers,
    unless_windows,
)
from gateway.admission.podsecurity.checks.seccomp_profile_baseline import REASON, explicit
from gateway.admission.podsecurity.levels import Level


def _violation(pod: PodUnderCheck) -> Violation | None:
    found = explicit(pod)
    if found is not None or "seccompProfile" in pod.context:
        return found
    silent = [name for name, context, _ in pod.containers if "seccompProfile" not in context]
    if not silent:
        return None
    types = '"RuntimeDefault" or "Localhost"'
    return Violation(REASON, f"pod or {of_containers(silent)} must set securityContext.seccompProfile.type to {types}")


_BASELINE = ("seccompProfile_baseline",)
CHECK = Check(
    "seccompProfile_restricted",
    Level.RESTRICTED,
    (Revision(19, _violation, _BASELINE), Revision(25, unless_windows(_violation), _BASELINE)),
)
