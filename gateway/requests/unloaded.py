"""The stage loading: requests for objects of an etcd that has not answered since the start wait for its content."""

from __future__ import annotations

import asyncio

from gateway.endpoints.endpoint import Endpoint
from gateway.requests.context import Outcome, RequestContext
from gateway.requests.in_time import in_time
from storage.errors import Unavailable

PATIENCE = 3.0  # seconds; a read waits as long for a resourceVersion that is not there yet


def is_unloaded(endpoint: Endpoint) -> bool:
    """Whether the cache of an endpoint has never been filled: only of etcds for which a start does not wait."""
    database = endpoint.database
    return database is not endpoint.services.database and not database.cache.reached


def wait_until_loaded(context: RequestContext) -> Outcome:
    """Has a request wait until the cache of its endpoint has been filled. Raises Unavailable."""
    route = context.route
    assert route is not None
    return in_time(context, _wait(route.endpoint)) if is_unloaded(route.endpoint) else None


async def _wait(endpoint: Endpoint) -> None:
    feed = endpoint.database.feed
    try:
        async with asyncio.timeout(PATIENCE):
            await feed.ready.wait()
    except TimeoutError:
        raise Unavailable(str(feed.error or "etcd has not answered yet")) from None
