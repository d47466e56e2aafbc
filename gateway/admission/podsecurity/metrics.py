"""The metrics of Pod Security Admission, under kube-apiserver's names."""

from __future__ import annotations

from functools import lru_cache

from gateway.admission.podsecurity.levels import Level, LevelVersion
from gateway.admission.record import Admission
from gateway.kinds.attributes import Operation
from storage.instruments import Counter, counter

_REQUEST = ("request_operation", "resource", "subresource")
_EVALUATIONS = counter(
    "pod_security_evaluations_total",
    "Evaluated pods and templates, by decision; ignored and exempt ones are not counted.",
    "decision",
    "policy_level",
    "policy_version",
    "mode",
    *_REQUEST,
)
_EXEMPTIONS = counter("pod_security_exemptions_total", "Requests that were exempt.", *_REQUEST)
_ERRORS = counter(
    "pod_security_errors_total",
    "Errors of evaluation; after one that is not fatal, restricted:latest may have been enforced.",
    "fatal",
    *_REQUEST,
)
_PODS = [(operation, "pod", "") for operation in ("create", "update")]
_SHOWN_AT_ONCE = (
    [_EVALUATIONS.labels("allow", "privileged", "latest", "enforce", *pods) for pods in _PODS],
    [_EXEMPTIONS.labels(operation, each, "") for operation, *_ in _PODS for each in ("pod", "controller")],
)
"""The children that kube-apiserver shows, with 0, before the first request."""
_OPERATIONS = {operation: operation.value.lower() for operation in Operation}
_KINDS = {"pods": "pod", "namespaces": "namespace"}


def _request(admission: Admission) -> tuple[str, str, str]:
    return (
        _OPERATIONS[admission.operation],
        _KINDS.get(admission.resource.resource, "controller"),
        admission.subresource,
    )


def count_evaluation(admission: Admission, allowed: bool, mode: str, policy: LevelVersion, newest: int) -> None:
    """Counts a decision in a mode ("enforce", "audit", "warn"); `newest` is the minor that is served."""
    _evaluations(allowed, mode, policy, newest, *_request(admission)).inc()


@lru_cache(256)
def _evaluations(allowed: bool, mode: str, policy: LevelVersion, newest: int, *request: str) -> Counter:
    version = policy.version
    if policy.level is Level.PRIVILEGED:
        version = "latest"
    elif policy.minor is not None and policy.minor > newest:
        version = "future"
    return _EVALUATIONS.labels("allow" if allowed else "deny", policy.level.text, version, mode, *request)


def count_exemption(admission: Admission) -> None:
    """Counts a request that was exempt."""
    _EXEMPTIONS.labels(*_request(admission)).inc()


def count_error(admission: Admission, fatal: bool) -> None:
    """Counts an error. After a fatal one the pod was not checked, after others it was checked by a fallback policy."""
    _ERRORS.labels("true" if fatal else "false", *_request(admission)).inc()
