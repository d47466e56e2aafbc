"""The stages that pass a request on: to another server, to discovery, or to operational paths such as /metrics."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from gateway.aggregation.delegation import Delegation
from gateway.customresources.definitions import Definitions
from gateway.discovery.discovery import Discovery
from gateway.encodings.rendering_process import RenderingProcess
from gateway.encodings.representation import represented
from gateway.flowcontrol.limiter import is_long_running
from gateway.forwarding.answers import Passing
from gateway.http.deadline import MAXIMUM, timed_out
from gateway.http.exchange import Response
from gateway.http.negotiation import JSON
from gateway.http.send import Send, with_standard_headers
from gateway.kinds.registry import Registry
from gateway.requests.context import ANSWERED, Outcome, Receive, RequestContext, Run, Scope

Operations = Callable[[Scope, Receive, Send], Awaitable[None]]
"""An ASGI application, which answers requests that are not for a resource."""


def delegation(delegate: Delegation, remember: Callable[[RequestContext], None]) -> Run:
    """Passes requests for an API of another server to `delegate`, and returns that server's answer unchanged.

    Calls `remember` with the context of such a request. Raises StatusError 504 if the answer does not begin in time.
    """
    services = delegate.services

    def look(context: RequestContext) -> Outcome:
        request = context.request
        if not services.remote or request.path.startswith("//"):
            return None
        found = delegate(request)
        if found is None:
            return None
        remember(context)
        info = request.info
        if info.verb == "watch" or is_long_running(info):
            return begun(context, found)
        return in_time(context, found)

    async def in_time(context: RequestContext, found: Awaitable[Response]) -> Response:
        until = asyncio.get_running_loop().time() + (context.timeout or MAXIMUM)
        try:
            async with asyncio.timeout_at(until):
                response = await begun(context, found)
        except TimeoutError:
            raise timed_out() from None
        if isinstance(response.body, Passing):
            response.body.end_at(until)
        return response

    async def begun(context: RequestContext, found: Awaitable[Response]) -> Response:
        response = await found
        # the other server limits watches and tunnels, so they hold no seats here
        lasts = context.request.info.verb == "watch" or response.tunnel is not None
        if lasts and context.seats is not None:
            context.seats.give_back()
        return response

    return look


def announced(definitions: Definitions, registry: Registry) -> Run:
    """Lets requests for unknown kinds and for discovery wait for CustomResourceDefinitions that are not served yet."""

    def look(context: RequestContext) -> Outcome:
        request, info = context.request, context.request.info
        if info.is_resource and (info.group, info.version, info.resource, "") in registry.resources:
            return None
        return definitions.announced.over() if request.path.startswith("/apis") and definitions.announced else None

    return look


def discovery(documents: Discovery, apart: RenderingProcess) -> Run:
    """Answers requests for discovery documents. Raises StatusError 404, 405 and 406."""

    def look(context: RequestContext) -> Outcome:
        return None if context.request.info.is_resource else answer(context)

    async def answer(context: RequestContext) -> Response | None:
        request = context.request
        found = await documents.respond(request, apart)
        if found is None:
            return None
        if request.audit is not None:
            request.audit.answered(found)
        return await represented(JSON.prettied() if request.human else JSON, found)

    return look


def operations(application: Operations) -> Run:
    """Answers all other requests that are not for a resource, with `application`."""

    def look(context: RequestContext) -> Outcome:
        return None if context.request.info.is_resource else answer(context)

    async def answer(context: RequestContext) -> Response:
        await application(context.scope, context.receive, with_standard_headers(context.request, context.send))
        return ANSWERED

    return look
