"""The states of a watch that is up to date: its task waits, or the watch rests and has no task.

In both states the cache notifies the watch of changes, and the watch writes them directly to its sink. If it cannot,
the state ends and a task works (`open_watch.WORKING`).

    Working ── until_changed ──> Waiting ── a change that is not written, or the time is over ──> Working
    Working ── begin ──────────> Resting ── the same: its sink starts a new task ───────────────> Working
"""

from __future__ import annotations

import asyncio
import time

from gateway.reading.open_watch import WORKING, OpenWatch


class Waiting:
    """The task of a watch awaits a future: its client is slow, or its answer cannot rest."""

    __slots__ = ("_changed", "_watch")
    rests = False

    def __init__(self, watch: OpenWatch) -> None:
        self._watch = watch
        self._changed: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def until_changed(self, seconds: float) -> None:
        """Waits for a change that cannot be written directly, at most for some seconds."""
        watch = self._watch
        cache, interest = watch.endpoint.cache, watch.view.interest
        watch.state = self
        timer = asyncio.get_running_loop().call_later(seconds, self.end)
        cache.follow_changes(self._told, interest)
        try:
            told = await self._changed
            watch.position = max(watch.position, told)  # changes written meanwhile have moved the position
        finally:
            timer.cancel()
            cache.unfollow_changes(self._told, interest)
            watch.state = WORKING

    def end(self) -> None:
        """Ends the wait."""
        if not self._changed.done():
            watch = self._watch
            self._changed.set_result(watch.endpoint.cache.unserved(self._told, watch.view.interest))

    def leave(self) -> None:
        """Does nothing: the watch has a task."""

    def _told(self, position: int) -> None:
        """The cache calls this after a change. Changes before `position` do not concern the watch; -1 if unknown."""
        watch = self._watch
        if self._changed.done():
            return
        watch.position = max(watch.position, position)
        if not watch.write_changes():
            self._changed.set_result(watch.position)


class Resting:
    """The watch has no task. An alarm, whose timer all watches share, rings for bookmarks and for the deadline."""

    __slots__ = ("_alarm", "_watch")
    rests = True

    def __init__(self, watch: OpenWatch) -> None:
        self._watch = watch
        self._alarm = 0

    def begin(self) -> None:
        """Lets the watch rest from now on."""
        watch = self._watch
        watch.state = self
        watch.endpoint.cache.follow_changes(self._told, watch.view.interest)
        self._set_alarm()

    def end(self) -> None:
        """Ends the rest: the sink starts a new task."""
        self.leave()
        if self._watch.sink is not None:
            self._watch.sink.wake()

    def leave(self) -> None:
        """Ends the rest of a watch that has a new task."""
        watch = self._watch
        watch.state = WORKING
        watch.endpoint.cache.unfollow_changes(self._told, watch.view.interest)
        watch.endpoint.services.alarms.unset(self._alarm, self)

    def ring(self) -> None:
        """The alarm rings, maybe early: writes a bookmark if it is due, or ends the rest at the deadline."""
        watch = self._watch
        watch.position = max(watch.position, watch.endpoint.cache.unserved(self._told, watch.view.interest))
        now = time.monotonic()
        goes_on = watch.write_changes() and now < watch.deadline
        if goes_on and (now < watch.next_bookmark or watch.write_bookmark(now)):
            self._set_alarm()
        else:
            self.end()

    def _set_alarm(self) -> None:
        watch = self._watch
        self._alarm = watch.endpoint.services.alarms.set(min(watch.deadline, watch.next_bookmark), self)

    def _told(self, position: int) -> None:
        """The cache calls this after a change. Changes before `position` do not concern the watch; -1 if unknown."""
        watch = self._watch
        if watch.state is not self:
            return
        watch.position = max(watch.position, position)
        if not watch.write_changes():
            self.end()
