"""A finished request is not kept alive by the contexts of the tasks and timers that it has started."""

from __future__ import annotations

import asyncio
import gc
import weakref
from typing import Any

from gateway.http.exchange import Request, Response
from gateway.requests.context import RequestContext
from storage.instruments.trace import current


class _List(list[bytes]):
    """A body that can be referred to weakly."""


async def _nothing(*_: Any) -> None:
    return None


def test_a_task_that_outlives_its_request_keeps_no_answer() -> None:
    async def run() -> None:
        over = asyncio.Event()
        context = RequestContext(Request("GET", "/", b"", {}, _nothing), {}, _nothing, _nothing)
        current.set(context)
        body = _List([b"many pods"])
        left = weakref.ref(body)
        context.response = Response(200, body)
        task = asyncio.create_task(over.wait())
        del body
        context.give_back()
        assert left() is None
        over.set()
        await task

    gc.disable()
    try:
        asyncio.run(run())
    finally:
        gc.enable()
