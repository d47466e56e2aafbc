"""The metrics of Pod Security Admission."""

from __future__ import annotations

import subprocess
import sys

SHOWN = """
import gateway.admission.podsecurity.metrics
from storage.instruments.families import declared
for family in declared():
    if family.name.startswith("pod_security"):
        for labels, child in family.children():
            print(family.name, *labels, child.value)
"""


def test_some_metrics_are_shown_before_the_first_pod() -> None:
    shown = subprocess.run([sys.executable, "-c", SHOWN], capture_output=True, text=True, check=True).stdout
    assert [line for line in shown.splitlines() if "evaluations" in line] == [
        f"pod_security_evaluations_total allow privileged latest enforce {operation} pod  0"
        for operation in ("create", "update")
    ]
    assert sorted(line for line in shown.splitlines() if "exemptions" in line) == [
        f"pod_security_exemptions_total {operation} {resource}  0"
        for operation in ("create", "update")
        for resource in ("controller", "pod")
    ]
