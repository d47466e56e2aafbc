"""Baseline: pods mount no directories of the host."""

from __future__ import annotations

from gateway.admission.podsecurity.check import Check, PodUnderCheck, Revision, Violation, plural, quoted
from gateway.admission.podsecurity.levels import Level


def _violation(pod: PodUnderCheck) -> Violation | None:
    bad = [volume.get("name", "") for volume in pod.spec.get("volumes") or () if volume.get("hostPath") is not None]
    return Violation("hostPath volumes", f"{plural('volume', bad)} {quoted(bad)}") if bad else None


CHECK = Check("hostPathVolumes", Level.BASELINE, (Revision(0, _violation),))
