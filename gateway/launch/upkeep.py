"""What runs beside the requests begins anew when it fails: no value that somebody stored may end the process."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from storage.guarded import FAILURES

logger = logging.getLogger(__name__)

SOON, LATE = 1.0, 30.0  # seconds until it begins anew, the first time and at most


def kept_up(name: str, run: Callable[[], Coroutine[Any, Any, None]], stopping: asyncio.Event) -> asyncio.Task[None]:
    """A task of a name that runs what `run` makes; when that fails, another one after a while."""
    return asyncio.create_task(_keep_up(name, run, stopping), name=name)


async def _keep_up(name: str, run: Callable[[], Coroutine[Any, Any, None]], stopping: asyncio.Event) -> None:
    pause = SOON
    while True:
        began = asyncio.get_running_loop().time()
        try:
            await run()
            return
        except Exception:
            if stopping.is_set():
                raise
            logger.exception("%s failed, begins anew", name)
            FAILURES.labels(name).inc()
        if asyncio.get_running_loop().time() - began > LATE:
            pause = SOON
        with suppress(TimeoutError):
            async with asyncio.timeout(pause):
                await stopping.wait()
                return
        pause = min(2 * pause, LATE)
