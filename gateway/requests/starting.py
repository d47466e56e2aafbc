"""Requests that come while the process starts: it listens from the beginning, and loads all objects meanwhile.

kube-apiserver does so too: health checks say what is not ready yet, and what has no watch cache yet is answered 429
with Retry-After ("storage is (re)initializing"), which client-go's clients repeat by themselves.
"""

from __future__ import annotations

import asyncio

from gateway.http.exchange import Response
from gateway.http.sending import with_standard_headers
from gateway.http.status import StatusError, too_many_requests
from gateway.requests.context import ANSWERED, Outcome, RequestContext
from gateway.requests.elsewhere import Operations
from gateway.requests.parts import Gateway
from storage.errors import Unavailable

PATIENCE = 3.0  # seconds until a request is refused; most starts are over by then
PROBES = frozenset({"/healthz", "/livez", "/readyz"})
"""What every user may ask, as by the default of kube-apiserver's --authorization-always-allow-paths."""


def hold(gateway: Gateway, context: RequestContext) -> Outcome:
    """Lets those requests go on that need nothing of what is loaded, and has others wait.

    What waits raises StatusError 429 in the end, Unavailable where etcd does not answer.
    """
    path = context.request.path
    if path in PROBES or path == "/version" or path.startswith(tuple(f"{probe}/" for probe in PROBES)):
        return None
    return _until_served(gateway)


def probe(operations: Operations, context: RequestContext) -> Outcome:
    """Answers health checks without asking who may: roles are not known yet."""
    return _answered(operations, context) if context.request.path in PROBES else None


async def _answered(operations: Operations, context: RequestContext) -> Response:
    await operations(context.scope, context.receive, with_standard_headers(context.request, context.send))
    return ANSWERED


async def _until_served(gateway: Gateway) -> None:
    try:
        async with asyncio.timeout(PATIENCE):
            await gateway.served.wait()
    except TimeoutError:
        if gateway.feed.error is not None:
            raise Unavailable(str(gateway.feed.error)) from None
        raise initializing() from None


def initializing() -> StatusError:
    """The answer that kube-apiserver gives for what it has not loaded yet."""
    return too_many_requests("storage is (re)initializing")
