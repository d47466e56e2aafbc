"""The deadline of a request, for what its stages wait for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from gateway.http.deadline import timed_out
from gateway.requests.context import RequestContext

T = TypeVar("T")


async def in_time(context: RequestContext, awaited: Awaitable[T]) -> T:
    """The result of `awaited`, for which the request's timeout is left. Raises StatusError 504 after the timeout."""
    if context.timeout is None:
        return await awaited
    context.request.body_seconds = context.timeout
    try:
        async with asyncio.timeout(context.timeout):
            return await awaited
    except TimeoutError:
        raise timed_out() from None
