"""Lets requests go first: controllers pause while requests keep the event loop busy."""

from __future__ import annotations

import asyncio
import time

BUSY = 0.005  # seconds of CPU time in one round of the loop


async def give_way() -> None:
    """Waits for one round of the event loop. If that round was busy, sleeps for the same time again.

    So controllers get less of a busy loop: down to about a half of its time. Only
    this thread's CPU time counts: a pause would not help against the load of other processes.
    """
    before = time.thread_time()
    await asyncio.sleep(0)
    busy = time.thread_time() - before
    if busy > BUSY:
        await asyncio.sleep(busy)
