"""Baseline: /proc is masked; since 1.35 not for pods in a user namespace of their own."""

from __future__ import annotations

from gateway.admission.podsecurity.check import (
    Check,
    PodUnderCheck,
    Revision,
    Violation,
    of_containers,
    quoted,
    unless_in_user_namespace,
)
from gateway.admission.podsecurity.levels import Level


def unmasked(pod: PodUnderCheck) -> Violation | None:
    """The violation of a pod that asks for another /proc than the masked one."""
    mounts = {name: context["procMount"] for name, context, _ in pod.containers if "procMount" in context}
    bad = [name for name, mount in mounts.items() if mount != "Default"]
    if not bad:
        return None
    types = quoted(sorted({mounts[name] for name in bad}))
    return Violation("procMount", f"{of_containers(bad)} must not set securityContext.procMount to {types}")


CHECK = Check("procMount", Level.BASELINE, (Revision(0, unmasked), Revision(35, unless_in_user_namespace(unmasked))))
