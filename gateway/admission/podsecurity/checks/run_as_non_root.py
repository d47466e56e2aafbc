"""Restricted: containers may not run as root; since 1.35 they may in a user namespace of their own."""

from __future__ import annotations

from gateway.admission.podsecurity.check import (
    Check,
    PodUnderCheck,
    Revision,
    Violation,
    of_containers,
    setters,
    unless_in_user_namespace,
)
from gateway.admission.podsecurity.levels import Level

_REASON = "runAsNonRoot != true"


def _violation(pod: PodUnderCheck) -> Violation | None:
    whole = pod.context.get("runAsNonRoot")
    explicit = [name for name, context, _ in pod.containers if context.get("runAsNonRoot") is False]
    if whole is False or explicit:
        who = setters(whole is False, explicit)
        return Violation(_REASON, f"{who} must not set securityContext.runAsNonRoot=false")
    if whole:
        return None
    silent = [name for name, context, _ in pod.containers if "runAsNonRoot" not in context]
    if not silent:
        return None
    return Violation(_REASON, f"pod or {of_containers(silent)} must set securityContext.runAsNonRoot=true")


CHECK = Check(
    "runAsNonRoot",
    Level.RESTRICTED,
    (Revision(0, _violation), Revision(35, unless_in_user_namespace(_violation))),
)
