"""Defaults of priority classes.

Source: Kubernetes API reference, PriorityClass.
"""

from __future__ import annotations

from gateway.defaults.registry import Defaulters
from gateway.defaults.table import compile_table

DEFAULTERS: Defaulters = {
    ("scheduling.k8s.io/v1", "PriorityClass"): compile_table({"preemptionPolicy?": "PreemptLowerPriority"}),
}
