"""The stages negotiation, turn, deprecation, long-running, verb, begun, visibility and representation."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Generator

from gateway.customresources.definitions import Definitions
from gateway.encodings.rendering_process import RenderingProcess
from gateway.encodings.representation import is_status, represented
from gateway.endpoints.endpoint import Endpoint
from gateway.flowcontrol.watches import OpenWatches
from gateway.http.exchange import Request
from gateway.http.negotiation import JSON, NotHonoured
from gateway.http.status import StatusError
from gateway.http.time_slices import Beginnings, next_turn
from gateway.http.websocket import switched
from gateway.kinds.resource import Resource
from gateway.requests.context import Outcome, RequestContext, Run
from gateway.requests.in_time import in_time
from gateway.requests.interposed_stages import Interposed
from gateway.requests.transforms import check_answer, transformed
from gateway.writing.patch_body import patch_type
from storage.errors import StorageError
from storage.reads import Reads

EXTENSIONS = "apiextensions.k8s.io"  # the group of CustomResourceDefinitions
SHORT_QUERY = 2048  # bytes, whose selectors take less than a millisecond
_WRITES = frozenset({"create", "update", "patch", "delete", "deletecollection"})


class _NextTurn:
    """An awaitable that waits for the next turn of the event loop, like `asyncio.sleep(0)`; it can be awaited often."""

    def __await__(self) -> Generator[None, None, None]:
        yield


_NEXT_TURN = _NextTurn()


def negotiate(context: RequestContext) -> Outcome:
    """Sets the representation and the measures. Raises StatusError 400, 406 and, for a patch, 415."""
    request, route = context.request, context.route
    assert route is not None
    context.measures = route.measures
    request.media, verb = route.media, route.info.verb
    if verb == "patch" and not request.media.passing:
        _check_patch_type(request, route.endpoint.resource)
    try:
        wanted = request.media.negotiate(request.headers.get(b"accept", b""), verb)
    except NotHonoured:
        warn_of_deprecation(request, route.endpoint)
        raise
    if request.human:
        wanted = wanted.prettied()
    if wanted.transform is not None:
        wanted = transformed(wanted, wanted.transform, request, route.endpoint.resource, verb)
    request.representation = wanted
    return None


def _check_patch_type(request: Request, resource: Resource) -> None:
    """Raises StatusError 415 for a patch of a built-in kind, before all other checks, in a media type of documents."""
    if not resource.defined:
        try:
            patch_type(request, resource)
        except StatusError:
            request.media = request.media.of_documents
            raise


def wait_with_long_query(context: RequestContext) -> Outcome:
    """Lets a request whose selectors may take milliseconds begin in a turn of its own: many come at once."""
    return next_turn() if len(context.request.query_string) > SHORT_QUERY else None


def turns() -> Run:
    """Lets only a few writes begin in each turn of the event loop, so that reads do not wait for many writes."""
    beginnings = Beginnings()

    def look(context: RequestContext) -> Outcome:
        route = context.route
        assert route is not None
        return None if route.info.verb not in _WRITES or beginnings.free() else beginnings.turn()

    return look


def deprecation(context: RequestContext) -> Outcome:
    """Adds the warning of a deprecated version to the answer."""
    route = context.route
    assert route is not None
    if route.endpoint.deprecation:
        warn_of_deprecation(context.request, route.endpoint)
    return None


def warn_of_deprecation(request: Request, endpoint: Endpoint) -> None:
    """Adds the endpoint's deprecation warning to the answer; does nothing for a version that is not deprecated."""
    if endpoint.deprecation:
        request.warnings.append(endpoint.deprecation)
        if request.audit is not None:
            request.audit.annotate("k8s.io/deprecated", "true")


def long_running(watches: OpenWatches) -> Run:
    """Counts a watch, or another long-running request, until its end. Raises Refused for one watch too many.

    Only a few watches begin in each turn of the event loop: hundreds come at once when a server is back, or an operator
    starts.
    """
    beginnings = Beginnings()

    def count(context: RequestContext) -> Outcome:
        route = context.route
        assert route is not None
        if route.measures.long is not None:
            context.long = route.measures.long
            context.long.value += 1
        if route.info.verb == "watch":
            context.watch = watches.open(context.request)
            if not beginnings.free():
                return beginnings.turn()
        return None

    return count


async def verb(context: RequestContext) -> None:
    """Runs the route's verb and sets the response. Raises what the verb raises; StatusError 504 after the timeout."""
    request, route = context.request, context.route
    assert route is not None
    under_way = route.measures.in_flight
    under_way.value += 1
    try:
        if context.timeout is None:
            context.response = await route.verb(route.endpoint, request)
        else:
            context.response = await in_time(context, route.verb(route.endpoint, request))
    finally:
        under_way.value -= 1


def begun(interposed: Interposed) -> Run:
    """Gives the seats of a watch back, because its work of beginning is done, and tells who follows watches."""

    def look(context: RequestContext) -> Outcome:
        route = context.route
        assert route is not None
        if route.info.verb != "watch":
            return None
        if interposed.follows:
            from gateway.reading.watch_body import WatchBody

            if isinstance(context.response.body, WatchBody):
                interposed.opened(context, context.response.body.stream)
        if context.seats is not None:
            context.seats.give_back()
        return None

    return look


def visibility(is_parameter: Callable[[str, str], bool], definitions: Definitions) -> Run:
    """Delays the answer to a write until watches have got the change: the client may read from an informer next.

    A write that decides about other requests, for example of a role or policy, also waits until the watch cache of this
    process has it. `is_parameter` tells by group and kind whether objects are parameters of admission policies.
    `definitions` serves CustomResourceDefinitions.
    """

    def look(context: RequestContext) -> Outcome:
        route = context.route
        assert route is not None
        if route.info.verb not in _WRITES:
            return None
        strategy, model = route.endpoint.object_strategy, route.endpoint.resource.model
        governs = strategy.governs or is_parameter(model.group, model.kind)
        return governing(route.endpoint.store.reads, model.group) if governs else _NEXT_TURN

    async def governing(reads: Reads, group: str) -> None:
        await asyncio.sleep(0)
        with contextlib.suppress(StorageError):  # the write has succeeded: an error would make the client repeat it
            await reads.fresh()
            if group == EXTENSIONS:
                await definitions.looked_at()

    return look


def representation(apart: RenderingProcess) -> Run:
    """Returns the verb's response in the negotiated representation. Raises StatusError 400 and 406."""

    def look(context: RequestContext) -> Outcome:
        request, route, response = context.request, context.route, context.response
        assert route is not None
        wanted = request.representation
        if wanted.transform is not None and response.status < 300:
            check_answer(request, route.endpoint.resource, route.info.verb, is_status(response))
        if request.audit is not None:
            request.audit.answered(response)
        if not (response.encoded or wanted is JSON):
            return represented(wanted, response, lambda: route.endpoint.encoder(wanted), apart)
        if route.info.verb == "watch" and b"upgrade" in request.headers:
            return switched(request, response)
        return response

    return look
