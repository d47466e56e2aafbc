"""The stages shutdown, audit and authorization."""

from __future__ import annotations

from collections.abc import Mapping
from time import monotonic
from typing import TYPE_CHECKING

from gateway.access.authorization import Authorizer, Decision, require_verdict
from gateway.endpoints.services import Services
from gateway.http.exchange import TEXT_TYPE, Response
from gateway.requests.context import Outcome, RequestContext, Run
from gateway.requests.plain_answers import NO_SNIFF
from storage.instruments import Histogram, counter, exponential, histogram
from storage.instruments.families import Labels

if TYPE_CHECKING:
    from gateway.audit.audit import Audit

_PROBES = ("/readyz", "/livez", "/healthz")
_SHUTTING_DOWN = b"The apiserver is shutting down, please try again later.\n"

DURATION = histogram(
    "authorization_duration_seconds",
    "Duration of authorization, by result.",
    "result",
    buckets=exponential(0.001, 2, 15),
)
ATTEMPTS = counter("authorization_attempts_total", "Attempts to authorize a request, by result.", "result")
DECISIONS = counter("apiserver_authorization_decisions_total", "Decisions of authorizers.", "decision")
_RESULTS = {Decision.ALLOW: "allowed", Decision.DENY: "denied", Decision.NO_OPINION: "no-opinion"}


class _Took(dict[Decision, Histogram]):
    """The durations by decision; a decision that never came is not shown."""

    def __missing__(self, decision: Decision) -> Histogram:
        found = self[decision] = DURATION.labels(_RESULTS[decision])
        return found


_TOOK = _Took()
ATTEMPTS.reads(lambda: {labels: sum(child.counts) for labels, child in DURATION.children()})


def _decisions() -> Mapping[Labels, float]:
    found = {labels[0]: sum(child.counts) for labels, child in DURATION.children()}
    return {
        ("allowed",): found.get("allowed", 0),
        ("denied",): found.get("denied", 0) + found.get("no-opinion", 0),
    }


DECISIONS.reads(_decisions)


def auditing(audit: Audit) -> Run:
    """Sets the audit record of a request, if the audit policy wants one. Raises Undecided if it cannot be kept."""

    def begin(context: RequestContext) -> Outcome:
        record = audit.record(context.request, context.user, context.scope, context)
        context.request.audit = context.record = record
        return None if record is None else record.begin()

    return begin


def record_refused(audit: Audit, context: RequestContext) -> None:
    """Sets the audit record of a request that request-info refuses, so that it does not come to the stage audit."""
    context.record = audit.record(context.request, None, context.scope, context)


def shutdown(services: Services) -> Run:
    """Answers 429 to new requests while the process shuts down and finishes earlier ones; health checks still run."""

    def look(context: RequestContext) -> Outcome:
        if not services.turning_away or context.request.path.startswith(_PROBES):
            return None
        return Response(429, _SHUTTING_DOWN, TEXT_TYPE, [(b"retry-after", b"5"), NO_SNIFF, (b"connection", b"close")])

    return look


def authorization(authorizer: Authorizer) -> Run:
    """Raises StatusError 403 for a request that is not allowed, Undecided if an authorizer failed."""

    def decide(context: RequestContext) -> Outcome:
        verdict = authorizer.known(context.attributes)
        if verdict is None:
            return ask(context)
        _TOOK[verdict.decision].counts[0] += 1  # it took almost no time
        if context.record is not None:
            context.record.decided(verdict)
        require_verdict(verdict, context.attributes)
        return None

    async def ask(context: RequestContext) -> None:
        began = monotonic()
        verdict = await authorizer.authorize(context.attributes)
        (DURATION.labels("error") if verdict.error else _TOOK[verdict.decision]).observe(monotonic() - began)
        if context.record is not None:
            context.record.decided(verdict)
        require_verdict(verdict, context.attributes)

    return decide
