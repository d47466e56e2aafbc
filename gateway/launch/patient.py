"""Logs what the start waits for, when it takes long."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from types import CoroutineType
from typing import Any

from gateway.pieces import survive

logger = logging.getLogger("gateway")

LOG_INTERVAL = 5.0  # seconds of waiting between log lines
_MOST = 20  # the most tasks that a log line names


def still_waiting(what: str, seconds: float, **more: object) -> None:
    """Logs that the start has waited for `what` for `seconds`; `more` are further fields of the log record."""
    logger.warning("not ready yet, waiting for %s", what, extra={"seconds": round(seconds), **more})


@asynccontextmanager
async def said(what: str) -> AsyncIterator[None]:
    """While the block runs, logs every LOG_INTERVAL seconds that it waits for `what`, and where each task waits."""

    async def say() -> None:
        began = time.monotonic()
        while True:
            await asyncio.sleep(LOG_INTERVAL)
            awaits = survive(lambda _: ", ".join(_places()), None, lambda _, error: None, "")
            still_waiting(what, time.monotonic() - began, awaits=awaits)

    saying = asyncio.create_task(say(), name="patience")
    try:
        yield
    finally:
        saying.cancel()
        with suppress(asyncio.CancelledError):
            await saying


def _places() -> list[str]:
    """The name of each task, with the innermost coroutine function in which it waits."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    return sorted(f"{task.get_name()}: {_innermost(task.get_coro())}" for task in others)[:_MOST]


def _innermost(awaited: Any) -> str:
    place = "?"
    while isinstance(awaited, CoroutineType):
        place = awaited.cr_code.co_qualname
        awaited = awaited.cr_await
    return place
