"""Baseline: pods do not share the host's network, processes and inter-process communication."""

from __future__ import annotations

from gateway.admission.podsecurity.check import Check, PodUnderCheck, Revision, Violation
from gateway.admission.podsecurity.levels import Level

_SHARED = ("hostNetwork", "hostPID", "hostIPC")


def _violation(pod: PodUnderCheck) -> Violation | None:
    shared = [f"{key}=true" for key in _SHARED if pod.spec.get(key)]
    return Violation("host namespaces", ", ".join(shared)) if shared else None


CHECK = Check("hostNamespaces", Level.BASELINE, (Revision(0, _violation),))
