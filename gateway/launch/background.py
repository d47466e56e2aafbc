"""The background tasks of a server process: their start, failure and end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from gateway.launch.upkeep import kept_up

LEAVE = 2.0  # seconds for tasks that clean up when the server stops, such as giving up a lease

Failed = Callable[[str, BaseException], None]
"""Is called with the name of a task that failed, and its error."""


class Background:
    """The tasks of a process."""

    def __init__(self, stopping: asyncio.Event, failed: Failed) -> None:
        """`failed` is called if a task fails before `stopping` is set, as requests get wrong answers without it."""
        self._stopping, self._failed = stopping, failed
        self._tasks: list[asyncio.Task[None]] = []
        self._leaving: list[asyncio.Task[None]] = []

    def run(self, name: str, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Begins work that is not restarted when it fails."""
        return self._added(asyncio.create_task(work, name=name))

    def keep_up(
        self, name: str, run: Callable[[], Coroutine[Any, Any, None]], *, takes_back: bool = False
    ) -> asyncio.Task[None]:
        """Begins work that is restarted when it fails. With `takes_back`, the work cleans up when the server stops, and
        `end` gives it time to do so.
        """
        task = self._added(kept_up(name, run, self._stopping))
        if takes_back:
            self._leaving.append(task)
        return task

    def _added(self, task: asyncio.Task[None]) -> asyncio.Task[None]:
        task.add_done_callback(self._ended)
        self._tasks.append(task)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None and not self._stopping.is_set():
            self._failed(task.get_name(), error)

    async def end(self, *, leave: bool) -> None:
        """Ends all tasks. With `leave`, tasks that clean up get LEAVE seconds to finish first."""
        leaving = [task for task in self._leaving if not task.done()]
        if leave and leaving:
            await asyncio.wait(leaving, timeout=LEAVE)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def come_before(stopping: asyncio.Event, *events: asyncio.Event) -> bool:
    """Waits until all `events` are set, or `stopping` is. Returns False if `stopping` is set."""
    coming = asyncio.gather(*(event.wait() for event in events))
    stopped = asyncio.ensure_future(stopping.wait())
    try:
        await asyncio.wait((coming, stopped), return_when=asyncio.FIRST_COMPLETED)
    finally:
        coming.cancel()
        stopped.cancel()
        await asyncio.gather(coming, stopped, return_exceptions=True)
    return not stopping.is_set()
