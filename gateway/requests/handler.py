"""The ASGI handler: runs each request through the stages of `gateway.requests.stages`, and sends the answer.

Every exception becomes a Status; a traceback never leaves the process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from functools import cached_property, partial
from time import monotonic

from gateway.access.authorization import AuthorizationUndecided
from gateway.encodings.failures import failure
from gateway.flowcontrol.level import Refused
from gateway.flowcontrol.limiter import too_many
from gateway.http.answer_sink import Pourable
from gateway.http.compression import compressed
from gateway.http.exchange import ClientDisconnected, Request, Response
from gateway.http.messages import RESET, REST, WHOLE
from gateway.http.send import Send, go_on, send_response
from gateway.http.status import StatusError
from gateway.http.time_slices import next_turn
from gateway.requests import measures
from gateway.requests.access import record_refused
from gateway.requests.context import ANSWERED, Outcome, Receive, RequestContext, Scope, Stage, Steps
from gateway.requests.elsewhere import Operations
from gateway.requests.parts import Gateway
from gateway.requests.plain_answers import internal_error, request_uri
from gateway.requests.request_log import SLOW, tell, tell_slow
from gateway.requests.resting_context import RestingContext
from gateway.requests.routes import Routes
from gateway.requests.serving_stages import SHORT_QUERY
from gateway.requests.stages import stages_of
from gateway.requests.unread import Unread
from gateway.settings.verbosity import verbosity_of
from storage.errors import AwaitedObject
from storage.instruments.trace import current

ALWAYS_COMPRESSED = frozenset({"/openapi/v2", "/metrics"})  # whether the feature gate is on or off
TOLD = 3  # from this --v on, each request is logged


class Handler:
    """Answers all requests of a gateway. Requests for paths outside the API are authorized, then go to `operations`."""

    def __init__(self, gateway: Gateway, operations: Operations) -> None:
        routes, interposed = Routes(gateway), gateway.interposed
        way, self._recall = stages_of(gateway, routes, operations), routes.recall
        interposed.on_change(lambda: self._lay(interposed.among(way)))
        self._lay(interposed.among(way))
        self._audit = gateway.services.audit
        self._tells = verbosity_of(gateway.settings, tell.__module__) >= TOLD
        self._compresses = gateway.services.admission.release.gates.enabled("APIResponseCompression")
        self._apart, self._media = gateway.services.renderings.apart, gateway.services.media.of_documents
        self._passed = passed
        if gateway.services.tracer is not None:
            from gateway.requests import spans

            self._passed = spans.passed

    def _lay(self, way: Iterable[Stage]) -> None:
        """Sets the stages of new requests; requests in progress keep theirs."""
        first, *rest = way
        self._read_info = first.run
        self._known = [(stage.name, stage.run) for stage in rest if not stage.by_path]
        self._gets = [(stage.name, stage.run) for stage in rest if not (stage.by_path or stage.of_writes)]
        self._found = [(stage.name, stage.run) for stage in rest if not stage.of_others]
        self._all = [(stage.name, stage.run) for stage in rest]
        self._again = [(stage.name, stage.run) for stage in rest if stage.again]

    def _heard(self, context: RequestContext) -> Outcome:
        """Reads the request info. A request that this refuses is recorded here: it does not come to the stage audit."""
        try:
            return self._read_info(context)
        except StatusError:
            assert self._audit is not None
            record_refused(self._audit, context)
            raise

    @cached_property
    def _unread(self) -> Unread:
        """The requests that wait for objects; made when the first one has to."""

        return Unread()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(reversed(scope["headers"]))
        request = Request(scope["method"], scope["path"], scope["query_string"], headers, receive, self._media)
        request.scope = scope
        context = RequestContext(request, scope, receive, send)
        current.set(context)
        whole = self._audit is None and WHOLE in scope.get("extensions", ())
        rests = False
        if self._audit is not None:
            send = context.send = self._audit.listening(request, context, send)
        try:
            response = await self._answer(context)
            if context.recording is not None:
                context.recording.answered(context, response)
            if response is not ANSWERED:
                apart = self._tells or context.trace or context.record or context.recording  # these need the context
                rests = await send_response(request, response, send, whole, not apart)
            if rests:
                await send({"type": REST, "go_on": partial(_go_on, RestingContext(context, response))})
                return
            if context.measures is not None and context.measures.answered(context, response) > SLOW:
                tell_slow(context, response)
            if context.trace is not None:
                context.trace.answered(response.status)
            if self._tells:
                tell(context, response)
        except ClientDisconnected:
            if context.measures is not None:
                measures.aborted(context.measures)
            if context.record is not None:
                context.record.cut_off()
        except asyncio.CancelledError:
            if not _given_up():
                raise
            await send({"type": RESET})
        finally:
            if not rests:
                context.give_back()
                if context.trace is not None:
                    context.trace.end()
                if context.recording is not None:
                    context.recording.over(context)
                if context.record is not None:
                    await context.record.end()

    async def _answer(self, context: RequestContext) -> Response:
        """The answer; an exception becomes an error answer. Raises ClientDisconnected if the client is gone."""
        request = context.request
        try:
            if self._recall(context):
                outcome, steps = None, self._gets if request.method == "GET" else self._known
            else:
                if len(request.query_string) > SHORT_QUERY:
                    await next_turn()  # to read it takes up to a millisecond, and many come at once
                outcome = self._read_info(context) if self._audit is None else self._heard(context)
                steps = self._found if outcome is None and request.info.is_resource else self._all
            if outcome is None:
                try:
                    outcome = await self._passed(context, steps)
                except AwaitedObject as error:
                    outcome = await self._unread.until_read(context, error, lambda: self._passed(context, self._again))
            assert type(outcome) is Response  # request-info never returns an awaitable
            if outcome is ANSWERED or b"accept-encoding" not in request.headers:
                return outcome
            if self._compresses or request.path in ALWAYS_COMPRESSED:
                return await compressed(request, outcome)
            return outcome
        except ClientDisconnected:
            raise
        except Refused as refused:
            measures.turned_away(context, 429)
            return too_many(refused)
        except AuthorizationUndecided as error:
            return internal_error(request_uri(context.scope), str(error))
        except Exception as error:
            if context.record is not None:
                context.record.failed(error)
            return await failure(request, error, self._apart)


async def passed(context: RequestContext, steps: Steps) -> Response:
    """The answer of the first stage that has one. The time that an awaitable takes is recorded."""
    for name, run in steps:
        outcome = run(context)
        if outcome is None:
            continue
        if isinstance(outcome, Response):
            return outcome
        began = monotonic()
        try:
            outcome = await outcome
        finally:
            context.waits.append((name, began, monotonic()))
        if outcome is not None:
            return outcome
    raise AssertionError("the last stage answers")


def _given_up() -> bool:
    """Whether the server, in its shutdown, has cancelled the request, so that its connection must be reset."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def _go_on(context: RestingContext, scope: Scope, receive: Receive, send: Send) -> None:
    """Continues an answer that has rested; called as the ASGI application."""
    current.set(context)
    context.request.receive = receive
    rests, body = False, context.response.body
    try:
        assert isinstance(body, Pourable)
        rests = await go_on(context.request, body, send)
        if rests:
            await send({"type": REST, "go_on": partial(_go_on, RestingContext(context, context.response))})
        elif context.measures is not None:
            context.measures.answered(context, context.response)
    except asyncio.CancelledError:
        if not _given_up():
            raise
        await send({"type": RESET})
    finally:
        if not rests:
            context.give_back()
