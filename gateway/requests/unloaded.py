"""The stage loading: requests wait for the objects of an etcd that has not answered since the start.

The start waits only for the main etcd, not for those of --etcd-servers-overrides.
"""

from __future__ import annotations

import asyncio

from gateway.endpoints.endpoint import Endpoint
from gateway.requests.context import Outcome, RequestContext
from gateway.requests.in_time import in_time
from storage.errors import Unavailable

PATIENCE = 3.0  # seconds; the same as for a read of a resourceVersion in the future


def is_unloaded(endpoint: Endpoint) -> bool:
    """Whether the watch cache of an endpoint has never been filled; always False for the main etcd."""
    database = endpoint.database
    return database is not endpoint.services.database and not database.cache.reached


def wait_until_loaded(context: RequestContext) -> Outcome:
    """Lets a request wait until its endpoint's watch cache is filled. Raises Unavailable after PATIENCE seconds."""
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
