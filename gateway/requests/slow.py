"""The log of slow requests: what each waited for, as kube-apiserver's traces tell it."""

from __future__ import annotations

import logging
from time import monotonic

from gateway.http.exchange import Response
from gateway.requests.context import RequestContext
from gateway.requests.measures import FILTERS

logger = logging.getLogger(__name__)

SLOW = 0.5  # seconds from which on a request is told of
_FILTERS = frozenset({"authentication", "audit", "impersonation", "priority-and-fairness", "authorization"})


def tell_slow(context: RequestContext, response: Response) -> None:
    """Logs a request that took long, unless it lasts for as long as its client likes, with all that it waited for."""
    route, request = context.route, context.request
    if route is None or route.measures.long is not None:
        return
    now, spent = monotonic(), dict[str, float]()
    for name, began, ended in context.waits:
        spent[name] = spent.get(name, 0.0) + ended - began
    for name in _FILTERS & spent.keys():
        FILTERS.labels(name.replace("-and-", "and")).observe(spent[name])
    stages = ", ".join(f"{name} {round(seconds * 1000)} ms" for name, seconds in spent.items() if seconds >= 0.001)
    logger.info(
        "slow request: %s %s",
        request.method,
        request.path,
        extra={
            "status": response.status,
            "milliseconds": round((now - context.began) * 1000),
            "user": request.user.name,
            "agent": request.headers.get(b"user-agent", b"").decode("latin-1"),
            "stages": stages,
        },
    )
