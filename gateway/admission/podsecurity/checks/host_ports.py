"""Baseline: containers take no ports of the host."""

from __future__ import annotations

from gateway.admission.podsecurity.check import Check, PodUnderCheck, Revision, Violation, of_containers, plural
from gateway.admission.podsecurity.levels import Level


def _violation(pod: PodUnderCheck) -> Violation | None:
    bad, taken = [], set()
    for name, _, container in pod.containers:
        ports = {str(port["hostPort"]) for port in container.get("ports") or () if port.get("hostPort")}
        if ports:
            bad.append(name)
            taken |= ports
    if not bad:
        return None
    verb = "uses" if len(bad) == 1 else "use"
    return Violation("hostPort", f"{of_containers(bad)} {verb} {plural('hostPort', taken)} {', '.join(sorted(taken))}")


CHECK = Check("hostPorts", Level.BASELINE, (Revision(0, _violation),))
