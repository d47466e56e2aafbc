"""Restarts background tasks that fail, so that no stored object can end the process."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from gateway.pieces import is_ending, raise_own
from storage.guard import FAILURES

logger = logging.getLogger(__name__)

SOON, LATE = 1.0, 30.0  # seconds until a restart: the first pause, and the longest


def kept_up(name: str, run: Callable[[], Coroutine[Any, Any, None]], stopping: asyncio.Event) -> asyncio.Task[None]:
    """A task that awaits `run()`, and calls `run` again after a pause when that has failed. It ends when `run` returns,
    or with the failure once `stopping` is set.
    """
    return asyncio.create_task(_keep_up(name, run, stopping), name=name)


async def _keep_up(name: str, run: Callable[[], Coroutine[Any, Any, None]], stopping: asyncio.Event) -> None:
    pause = SOON
    while not is_ending():
        began = asyncio.get_running_loop().time()
        try:
            await run()
            return
        except (Exception, asyncio.CancelledError) as error:
            raise_own(error)
            if stopping.is_set():
                raise
            logger.exception("%s failed, starting it again", name)
            FAILURES.labels(name).inc()
        if asyncio.get_running_loop().time() - began > LATE:
            pause = SOON
        with suppress(TimeoutError):
            async with asyncio.timeout(pause):
                await stopping.wait()
                return
        pause = min(2 * pause, LATE)
