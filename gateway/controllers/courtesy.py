"""Lets requests go first: controllers pause while requests keep the event loop busy."""

from __future__ import annotations

import asyncio
import time

BUSY = 0.005  # seconds of CPU time in one round of the loop


async def give_way() -> None:
    """Waits for a turn of the loop, and stays away for as long again where that round had much to do.

    So the more requests ask for, the less of the loop is a controller's, down to about a half. What other processes
    take of the machine does not count: to wait would not bring it back.
    """
    before = time.thread_time()
    await asyncio.sleep(0)
    busy = time.thread_time() - before
    if busy > BUSY:
        await asyncio.sleep(busy)
