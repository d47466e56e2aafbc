"""Requests during the start of the process. As in kube-apiserver, it listens from the beginning and loads all objects
meanwhile.

Health checks name the parts that are not ready. While a resource's watch cache is not filled, single objects, and pages
of lists without selectors, are read from etcd. Other requests wait, and then get 429 with Retry-After, after which
client-go tries again. An unknown path gets 503: it may belong to a CustomResourceDefinition that is not loaded yet.
"""

from __future__ import annotations

import asyncio

from gateway.endpoints.endpoint import Endpoint
from gateway.http.exchange import Request, Response
from gateway.http.request_info import RequestInfo
from gateway.http.send import with_standard_headers
from gateway.http.status import StatusError, service_unavailable
from gateway.requests.context import ANSWERED, Outcome, RequestContext
from gateway.requests.elsewhere import Operations
from gateway.requests.in_time import in_time
from gateway.requests.load_stages import is_unfilled
from gateway.requests.parts import Gateway
from storage.errors import NotLoaded, Unavailable

LOAD_TIMEOUT = 3.0  # seconds until a request is refused; most starts are over by then
PROBES = frozenset({"/healthz", "/livez", "/readyz"})
"""Paths that every user may read, as by the default of kube-apiserver's --authorization-always-allow-paths."""

_PASSING = ("/version", *(f"{probe}/" for probe in PROBES))
_DESCRIBING = ("/api", "/openapi")
_READING = frozenset({"get", "list", "watch"})
_OF_OBJECTS = frozenset({"", "status"})  # subresources whose reads return the object itself
_NODES = "system:nodes"
_UNKNOWN = "the request has been made before all known HTTP paths have been installed, please try again"


# stages, in their order


def hold(gateway: Gateway, context: RequestContext) -> Outcome:
    """Lets a request continue if all that it needs is loaded; otherwise it waits for up to LOAD_TIMEOUT seconds.

    After that it raises StatusError 503, NotLoaded (429), or Unavailable if etcd does not answer.
    """
    request = context.request
    if request.path in PROBES or request.path.startswith(_PASSING) or _may_go_on(gateway, request):
        return None
    return _until_it_may(gateway, request)


def hold_nodes(gateway: Gateway, context: RequestContext) -> Outcome:
    """Lets requests of nodes wait until everything is loaded: the rights of a node depend on all pods and volumes.

    Raises as `hold`.
    """
    request = context.request
    if _NODES not in request.user.groups or request.path in PROBES:
        return None
    return _before(gateway.served, request, gateway)


def probe(operations: Operations, context: RequestContext) -> Outcome:
    """Answers health checks before authorization, because the roles may not be loaded yet."""
    return _answered(operations, context) if context.request.path in PROBES else None


def wait_until_filled(context: RequestContext) -> Outcome:
    """Lets requests wait for the watch cache of their resource, if it is not filled and their route reads from it.

    Raises NotLoaded after LOAD_TIMEOUT seconds.
    """
    route = context.route
    assert route is not None
    if route.endpoint.direct or not is_unfilled(route.endpoint):
        return None
    return in_time(context, _filled(route.endpoint))


async def _answered(operations: Operations, context: RequestContext) -> Response:
    await operations(context.scope, context.receive, with_standard_headers(context.request, context.send))
    return ANSWERED


def _may_go_on(gateway: Gateway, request: Request) -> bool:
    """Whether all that the request needs is loaded."""
    if not gateway.readable.is_set():
        return False
    info = request.info
    if info.is_resource:
        return info.verb in _READING and info.subresource in _OF_OBJECTS and _is_known(gateway, info)
    whole = gateway.definitions.ready.is_set() and not gateway.aggregation.delegation.services.remote
    return whole and request.path.startswith(_DESCRIBING)


def _is_known(gateway: Gateway, info: RequestInfo) -> bool:
    return (info.group, info.version, info.resource, "") in gateway.registry.resources


async def _until_it_may(gateway: Gateway, request: Request) -> None:
    events = gateway.readable, gateway.definitions.ready, gateway.served
    try:
        async with asyncio.timeout(LOAD_TIMEOUT):
            while not gateway.served.is_set() and not _may_go_on(gateway, request):
                await _any([event for event in events if not event.is_set()])
    except TimeoutError:
        raise _refusal(gateway, request) from None


async def _before(event: asyncio.Event, request: Request, gateway: Gateway) -> None:
    try:
        async with asyncio.timeout(LOAD_TIMEOUT):
            await event.wait()
    except TimeoutError:
        raise _refusal(gateway, request) from None


async def _any(events: list[asyncio.Event]) -> None:
    waiting = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in waiting:
            each.cancel()


def _refusal(gateway: Gateway, request: Request) -> Unavailable | StatusError:
    if gateway.feed.error is not None:
        return Unavailable(str(gateway.feed.error))
    if request.info.is_resource and _is_known(gateway, request.info):
        return NotLoaded("the start goes on")
    return service_unavailable(_UNKNOWN, 5)


async def _filled(endpoint: Endpoint) -> None:
    waiter = endpoint.cache.changes()
    try:
        async with asyncio.timeout(LOAD_TIMEOUT):
            await waiter
    except TimeoutError:
        raise NotLoaded("the objects are yet to be loaded") from None
    finally:
        endpoint.cache.forget(waiter)
    if is_unfilled(endpoint):
        raise NotLoaded("everything is loaded anew")
