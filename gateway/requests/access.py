"""The stages between a request whose user is known and what it asks for: its record, its turn, its rights."""

from __future__ import annotations

from gateway.access.authorization import Authorizer, require_verdict
from gateway.audit.auditing import Audit
from gateway.flowcontrol.limiting import Limiter
from gateway.requests.context import Outcome, RequestContext, Run


def auditing(audit: Audit) -> Run:
    """Sets the record of a request that the policy wants recorded. Raises Undecided where none can be kept."""

    def begin(context: RequestContext) -> Outcome:
        record = audit.record(context.request, context.user, context.scope, context)
        context.request.audit = context.record = record
        return None if record is None else record.begin()

    return begin


def fairness(limiter: Limiter) -> Run:
    """Waits for the request's turn, and sets what it holds from then on. Raises Refused."""

    enter = limiter.enter
    return lambda context: enter(context.request, context.timeout, context)


def authorization(authorizer: Authorizer) -> Run:
    """Raises StatusError 403 for what is not allowed, Undecided where that could not be found out."""

    def decide(context: RequestContext) -> Outcome:
        verdict = authorizer.known(context.attributes)
        if verdict is None:
            return ask(context)
        if context.record is not None:
            context.record.decided(verdict)
        require_verdict(verdict, context.attributes)
        return None

    async def ask(context: RequestContext) -> None:
        verdict = await authorizer.authorize(context.attributes)
        if context.record is not None:
            context.record.decided(verdict)
        require_verdict(verdict, context.attributes)

    return decide
