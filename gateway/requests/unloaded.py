"""Requests for what is in an etcd that has not answered since the start: they wait for its content, for a while."""

from __future__ import annotations

import asyncio
from functools import partial

from gateway.endpoints.endpoint import Endpoint
from gateway.http.exchange import Request, Response
from gateway.verbs import Verb
from storage.errors import Unavailable

PATIENCE = 3.0  # seconds; a read waits as long for a resourceVersion that is not there yet


def once_loaded(verb: Verb) -> Verb:
    """A verb that begins when the cache has been filled. Raises Unavailable."""
    return partial(_wait_and_serve, verb)


async def _wait_and_serve(verb: Verb, endpoint: Endpoint, request: Request) -> Response:
    feed = endpoint.database.feed
    try:
        async with asyncio.timeout(PATIENCE):
            await feed.ready.wait()
    except TimeoutError:
        raise Unavailable(str(feed.error or "etcd has not answered yet")) from None
    return await verb(endpoint, request)
