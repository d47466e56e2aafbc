"""Writes of a kind whose rules are not imported yet: they are imported in a thread, where others have their turns."""

from __future__ import annotations

import asyncio
from functools import partial

from gateway.endpoints.endpoint import Endpoint
from gateway.http.exchange import Request, Response
from gateway.kinds.strategies import import_rules
from gateway.verbs import Verb


def once_imported(verb: Verb) -> Verb:
    """A verb that begins when the rules of its resource are imported."""
    return partial(_import_and_serve, verb)


async def _import_and_serve(verb: Verb, endpoint: Endpoint, request: Request) -> Response:
    await asyncio.to_thread(import_rules, endpoint.resource.gvr.group_resource)
    return await verb(endpoint, request)
