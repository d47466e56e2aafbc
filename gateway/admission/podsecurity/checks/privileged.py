"""Baseline: no container is privileged."""

from __future__ import annotations

from gateway.admission.podsecurity.check import Check, PodUnderCheck, Revision, Violation, of_containers
from gateway.admission.podsecurity.levels import Level


def _violation(pod: PodUnderCheck) -> Violation | None:
    bad = [name for name, context, _ in pod.containers if context.get("privileged")]
    return (
        Violation("privileged", f"{of_containers(bad)} must not set securityContext.privileged=true") if bad else None
    )


CHECK = Check("privileged", Level.BASELINE, (Revision(0, _violation),))
