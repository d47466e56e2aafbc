"""Restricted: containers do not set the user 0; since 1.35 they may in a user namespace of their own."""

from __future__ import annotations

from gateway.admission.podsecurity.check import (
    Check,
    PodUnderCheck,
    Revision,
    Violation,
    setters,
    unless_in_user_namespace,
)
from gateway.admission.podsecurity.levels import Level


def _violation(pod: PodUnderCheck) -> Violation | None:
    whole = pod.context.get("runAsUser") == 0
    bad = [name for name, context, _ in pod.containers if context.get("runAsUser") == 0]
    return Violation("runAsUser=0", f"{setters(whole, bad)} must not set runAsUser=0") if whole or bad else None


CHECK = Check(
    "runAsUser",
    Level.RESTRICTED,
    (Revision(23, _violation), Revision(35, unless_in_user_namespace(_violation))),
)
