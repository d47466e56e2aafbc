"""The stages that leave a request to somebody else: another server, discovery, the routes of operation."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from gateway.discovery.serving import Discovery
from gateway.encodings.rendering_process import Apart
from gateway.encodings.representation import represented
from gateway.http.exchange import Response
from gateway.http.sending import Send, with_standard_headers
from gateway.requests.context import ANSWERED, Outcome, Receive, RequestContext, Run, Scope
from gateway.requests.parts import Gateway

Operations = Callable[[Scope, Receive, Send], Awaitable[None]]
"""An ASGI application, which answers what is no request for a resource."""


def delegation(gateway: Gateway) -> Run:
    """Leaves to `gateway.delegate` what another server serves: its answer, whatever its form, is the request's."""

    def look(context: RequestContext) -> Outcome:
        delegate = gateway.delegate
        found = None if delegate is None else delegate(context.request)
        return None if found is None else begun(context, found)

    async def begun(context: RequestContext, found: Awaitable[Response]) -> Response:
        response = await found
        lasts = context.request.info.verb == "watch" or response.tunnel is not None
        if lasts and context.seats is not None:
            context.seats.give_back()  # for as long as its client likes: it is the other server's to limit
        return response

    return look


def discovery(documents: Discovery, apart: Apart) -> Run:
    """Answers requests for discovery documents. Raises StatusError 404, 405 and 406."""

    def look(context: RequestContext) -> Outcome:
        return None if context.request.info.is_resource else answer(context)

    async def answer(context: RequestContext) -> Response | None:
        request = context.request
        found = await documents.respond(request, apart)
        if found is None:
            return None
        if request.human:
            request.representation = request.representation.prettied()
        return await represented(request, found)

    return look


def operations(application: Operations) -> Run:
    """Has whatever else is no request for a resource answered by `application`."""

    def look(context: RequestContext) -> Outcome:
        return None if context.request.info.is_resource else answer(context)

    async def answer(context: RequestContext) -> Response:
        await application(context.scope, context.receive, with_standard_headers(context.request, context.send))
        return ANSWERED

    return look
