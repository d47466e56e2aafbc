"""A thread pool for compression and encoding of large answers, so that other work in threads need not wait for it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import cache
from typing import TypeVar

T = TypeVar("T")

_MOST = 4


async def beside(work: Callable[[], T]) -> T:
    """Runs `work` in a thread; returns or raises what it does."""
    return await asyncio.get_running_loop().run_in_executor(_pool(), copy_context().run, work)


def submit(work: Callable[[], object]) -> None:
    """Runs `work` in a thread and does not wait for it; `work` must not raise."""
    _pool().submit(copy_context().run, work)


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max(1, min(_MOST, (os.cpu_count() or 2) - 1)), thread_name_prefix="rendering")
