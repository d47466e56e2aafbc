"""Requests for objects that are not loaded yet.

The stage loading: requests wait for the objects of an etcd that has not answered since the start, which waits only for
the main etcd, not for those of --etcd-servers-overrides. In a start with many objects, the routes of some reads lead to
etcd, for as long as the watch cache of their resource is not filled.
"""

from __future__ import annotations

import asyncio

from gateway.endpoints.endpoint import Endpoint
from gateway.http.exchange import Request
from gateway.http.request_info import RequestInfo
from gateway.requests.context import Outcome, RequestContext
from gateway.requests.in_time import in_time
from storage.errors import Unavailable

LOAD_TIMEOUT = 3.0  # seconds; the same as for a read of a resourceVersion in the future


def is_unloaded(endpoint: Endpoint) -> bool:
    """Whether the watch cache of an endpoint has never been filled; always False for the main etcd."""
    database = endpoint.database
    return database is not endpoint.services.database and not database.cache.reached


def is_unfilled(endpoint: Endpoint) -> bool:
    """Whether the watch cache of an endpoint is set aside until its objects are loaded."""
    unfilled = endpoint.store.cache.unfilled
    return bool(unfilled and endpoint.resource.storage_prefix) and endpoint.cache in unfilled.values()


def unfilled_endpoint(endpoint: Endpoint, info: RequestInfo, request: Request) -> Endpoint:
    """The endpoint that reads from etcd, for a GET of an object, or for a page of a list without selectors.

    Its answers are the newest ones: it drops resourceVersion=0, with which any state will do. All other requests get
    the given endpoint, and wait.
    """
    if info.verb != "get" and not (info.verb == "list" and _is_page(request)):
        return endpoint
    if request.parameter("resourceVersion") == "0":
        request.adopt_query({name: each for name, each in request.query.items() if name != "resourceVersion"})
    return endpoint.without_cache()


def wait_until_loaded(context: RequestContext) -> Outcome:
    """Lets a request wait until its endpoint's watch cache is filled. Raises Unavailable after LOAD_TIMEOUT seconds."""
    route = context.route
    assert route is not None
    return in_time(context, _wait(route.endpoint)) if is_unloaded(route.endpoint) else None


async def _wait(endpoint: Endpoint) -> None:
    feed = endpoint.database.feed
    try:
        async with asyncio.timeout(LOAD_TIMEOUT):
            await feed.ready.wait()
    except TimeoutError:
        raise Unavailable(str(feed.error or "etcd has not answered yet")) from None


def _is_page(request: Request) -> bool:
    """Whether a list has a limit and no selector."""
    limit = request.parameter("limit")
    selects = request.parameter("labelSelector") or request.parameter("fieldSelector")
    return limit.isdecimal() and int(limit) > 0 and not selects
