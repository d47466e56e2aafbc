"""MutatingAdmissionPolicies."""

from __future__ import annotations

from gateway.kinds.strategies.admission_objects import admission_strategy, compiling
from gateway.kinds.strategy import Strategy
from gateway.release.gates import Enabled
from gateway.validation.admission_policy import validate_mutating_policy


def strategies(enabled: Enabled) -> dict[str, Strategy]:
    """The strategy; expressions may use the CEL functions of the release."""
    return {"": admission_strategy(compiling(validate_mutating_policy, enabled))}
