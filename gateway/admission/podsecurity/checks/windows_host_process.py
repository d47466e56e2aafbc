"""Baseline: no container is a process of a Windows host."""

from __future__ import annotations

from gateway.admission.podsecurity.check import Check, PodUnderCheck, Revision, Violation, setters
from gateway.admission.podsecurity.levels import Level
from gateway.jsontypes import JsonObject


def _violation(pod: PodUnderCheck) -> Violation | None:
    whole = _host_process(pod.context)
    bad = [name for name, context, _ in pod.containers if _host_process(context)]
    if not whole and not bad:
        return None
    detail = f"{setters(whole, bad)} must not set securityContext.windowsOptions.hostProcess=true"
    return Violation("hostProcess", detail)


def _host_process(context: JsonObject) -> bool:
    return bool((context.get("windowsOptions") or {}).get("hostProcess"))


CHECK = Check("windowsHostProcess", Level.BASELINE, (Revision(0, _violation),))
