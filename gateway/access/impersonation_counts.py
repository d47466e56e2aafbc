"""Metrics of constrained impersonation, under kube-apiserver's names."""

from __future__ import annotations

from time import monotonic

from gateway.access.authorization import Authorizer, Verdict
from gateway.kinds.attributes import Attributes
from storage.instruments import counter, exponential, histogram

_BUCKETS = exponential(0.001, 2, 15)
_ATTEMPTS = counter("apiserver_impersonation_attempts_total", "Attempts to impersonate.", "mode", "decision")
_ATTEMPTS_TOOK = histogram(
    "apiserver_impersonation_attempts_duration_seconds",
    "Time that attempts to impersonate took.",
    *("mode", "decision"),
    buckets=_BUCKETS,
)
_QUESTIONS = counter(
    "apiserver_impersonation_authorization_attempts_total",
    "Questions to the authorizers about impersonation.",
    *("mode", "decision"),
)
_QUESTIONS_TOOK = histogram(
    "apiserver_impersonation_authorization_attempts_duration_seconds",
    "Time that the authorizers took to answer questions about impersonation.",
    *("mode", "decision"),
    buckets=_BUCKETS,
)
_PLAIN = "legacy"  # as metrics call the mode of the verb "impersonate"


def count_attempt(mode: str | None, seconds: float) -> None:
    """Counts an attempt and its time. `mode` is the mode that allowed it, "" for the plain verb, None if none did."""
    labels = ("", "denied") if mode is None else (mode or _PLAIN, "allowed")
    _ATTEMPTS.labels(*labels).inc()
    _ATTEMPTS_TOOK.labels(*labels).observe(seconds)


class CountingAuthorizer:
    """Asks another authorizer, and counts its answers by the mode that the verb names."""

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    def known(self, attributes: Attributes) -> Verdict | None:
        verdict = self._authorizer.known(attributes)
        if verdict is not None:
            _count(attributes, verdict, 0.0)
        return verdict

    async def authorize(self, attributes: Attributes) -> Verdict:
        began = monotonic()
        verdict = await self._authorizer.authorize(attributes)
        _count(attributes, verdict, monotonic() - began)
        return verdict


def _count(attributes: Attributes, verdict: Verdict, seconds: float) -> None:
    _, _, mode = attributes.info.verb.partition(":")  # impersonate, impersonate:MODE or impersonate-on:MODE:VERB
    labels = mode.partition(":")[0] or _PLAIN, "allowed" if verdict.allowed else "denied"
    _QUESTIONS.labels(*labels).inc()
    _QUESTIONS_TOOK.labels(*labels).observe(seconds)
