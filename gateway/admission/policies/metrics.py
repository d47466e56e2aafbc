"""Metrics of admission policies, under kube-apiserver's names."""

from __future__ import annotations

from enum import Enum

from storage.instruments import by, counter, histogram

_BUCKETS = (0.0000005, 0.001, 0.01, 0.1, 1.0)
_VALIDATING, _MUTATING = "apiserver_validating_admission_policy_check", "apiserver_mutating_admission_policy_check"
_BY = ("policy", "policy_binding", "error_type")
_OF = (by("policy", "policy"), by("policy binding", "policy_binding"))
_VALIDATIONS = counter(
    f"{_VALIDATING}_total",
    "Validations by policies, by enforcement action.",
    *_BY,
    "enforcement_action",
    level="BETA",
    of=_OF,
)
_VALIDATION_SECONDS = histogram(
    f"{_VALIDATING}_duration_seconds",
    "Duration of validations by policies, by enforcement action.",
    *_BY,
    "enforcement_action",
    buckets=_BUCKETS,
    level="BETA",
    of=_OF,
)
_MUTATIONS = counter(f"{_MUTATING}_total", "Mutations by policies, by error type.", *_BY, of=_OF)
_MUTATION_SECONDS = histogram(
    f"{_MUTATING}_duration_seconds", "How long mutations by policies take.", *_BY, buckets=_BUCKETS, of=_OF
)


class Action(Enum):
    """What was done about a failed validation, as metrics name it."""

    ALLOW = "allow"
    DENY = "deny"
    AUDIT = "audit"
    WARN = "warn"


def observe_validation(policy: str, binding: str, action: Action, message: str, seconds: float) -> None:
    """Counts a validation that is false or could not be evaluated."""
    labels = (policy, binding, _error_type(message), action.value)
    _VALIDATIONS.labels(*labels).inc()
    _VALIDATION_SECONDS.labels(*labels).observe(seconds)


def observe_mutation(policy: str, binding: str, problem: str, seconds: float) -> None:
    """Counts a mutation that was made, or had the `problem`."""
    labels = (policy, binding, _error_type(problem) if problem else "no_error")
    _MUTATIONS.labels(*labels).inc()
    _MUTATION_SECONDS.labels(*labels).observe(seconds)


def _error_type(message: str) -> str:
    if message.startswith("compilation"):
        return "compile_error"
    if message.startswith("validation failed due to running out of cost budget"):
        return "out_of_budget"
    return "invalid_error"
