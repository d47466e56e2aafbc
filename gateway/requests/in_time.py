"""Applies the deadline of a request to an awaitable of a stage."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from gateway.http.deadline import timed_out
from gateway.requests.context import RequestContext

T = TypeVar("T")


async def in_time(context: RequestContext, awaited: Awaitable[T]) -> T:
    """The result of `awaited`. Raises StatusError 504 if it takes longer than the request's timeout, if it has one."""
    if context.timeout is None:
        return await awaited
    context.request.body_seconds = context.timeout
    try:
        async with asyncio.timeout(context.timeout):
            return await awaited
    except TimeoutError:
        raise timed_out() from None
