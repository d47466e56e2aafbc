"""Logs requests: slow ones with the times of their stages, like kube-apiserver's traces; with --v=3, all of them."""

from __future__ import annotations

import logging
from time import monotonic

from gateway.http.exchange import Response
from gateway.requests.context import RequestContext
from gateway.requests.measures import FILTERS

logger = logging.getLogger(__name__)

SLOW = 0.5  # seconds; longer requests are logged
_FILTERS = frozenset({"authentication", "audit", "impersonation", "priority-and-fairness", "authorization"})


def tell(context: RequestContext, response: Response) -> None:
    """Logs a request with the fields of kube-apiserver's httplog."""
    request, scope = context.request, context.scope
    query = scope["query_string"].decode("latin-1")
    logger.info(
        "HTTP",
        extra={
            "verb": request.info.verb,
            "URI": f"{request.path}?{query}" if query else request.path,
            "latency": f"{(monotonic() - context.began) * 1000:.3f}ms",
            "userAgent": request.headers.get(b"user-agent", b"").decode("latin-1"),
            "audit-ID": request.audit_id.decode("latin-1"),
            "srcIP": ":".join(map(str, scope.get("client") or ())),
            "resp": response.status or "",
        },
    )


def tell_slow(context: RequestContext, response: Response) -> None:
    """Logs a slow request with the times that it waited in each stage; not a long-running one, such as a watch."""
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
