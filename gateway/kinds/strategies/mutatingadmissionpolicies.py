"""MutatingAdmissionPolicies."""

from __future__ import annotations

from gateway.kinds.strategies.admission_objects import admission_strategy, compiling
from gateway.validation.admission_policy import validate_mutating_policy

STRATEGIES = {"": admission_strategy(compiling(validate_mutating_policy))}
