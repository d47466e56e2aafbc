"""Baseline: containers add no capabilities but those that runtimes give by default."""

from __future__ import annotations

from gateway.admission.podsecurity.check import Check, PodUnderCheck, Revision, Violation, of_containers, quoted
from gateway.admission.podsecurity.levels import Level

_ALLOWED = frozenset(
    {
        "AUDIT_WRITE",
        "CHOWN",
        "DAC_OVERRIDE",
        "FOWNER",
        "FSETID",
        "KILL",
        "MKNOD",
        "NET_BIND_SERVICE",
        "SETFCAP",
        "SETGID",
        "SETPCAP",
        "SETUID",
        "SYS_CHROOT",
    }
)


def _violation(pod: PodUnderCheck) -> Violation | None:
    bad, added = [], set()
    for name, context, _ in pod.containers:
        forbidden = set((context.get("capabilities") or {}).get("add") or ()) - _ALLOWED
        if forbidden:
            bad.append(name)
            added |= forbidden
    if not bad:
        return None
    detail = f"{of_containers(bad)} must not include {quoted(sorted(added))} in securityContext.capabilities.add"
    return Violation("non-default capabilities", detail)


CHECK = Check("capabilities_baseline", Level.BASELINE, (Revision(0, _violation),))
