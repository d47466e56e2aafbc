"""What a watch does while its task has nothing to do: the task waits, or the watch rests and has none.

In both states it is told of changes by the cache, and writes them at once where that can be done. What can't be done
so ends the state: the task works again (`open_watch.WORKING`).

    Working ── until_changed ──> Waiting ── a change that is not written, or the time is over ──> Working
    Working ── rest ───────────> Resting ── the same: its sink makes another task ──────────────> Working
"""

from __future__ import annotations

import asyncio
import time

from gateway.reading.open_watch import WORKING, OpenWatch


class Waiting:
    """The task of a watch awaits a future: its client is slow, or its connection can't do without a task."""

    __slots__ = ("_changed", "_watch")
    rests = False

    def __init__(self, watch: OpenWatch) -> None:
        self._watch = watch
        self._changed: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def until_changed(self, seconds: float) -> None:
        """Waits for a change that is not written at once, some seconds at most."""
        watch = self._watch
        cache, interest = watch.endpoint.cache, watch.view.interest
        watch.state = self
        timer = asyncio.get_running_loop().call_later(seconds, self.end)
        cache.follow_changes(self._told, interest)
        try:
            told = await self._changed
            watch.position = max(watch.position, told)  # events written meanwhile have moved it
        finally:
            timer.cancel()
            cache.unfollow_changes(self._told, interest)
            watch.state = WORKING

    def end(self) -> None:
        """It has waited long enough."""
        if not self._changed.done():
            watch = self._watch
            self._changed.set_result(watch.endpoint.cache.unserved(self._told, watch.view.interest))

    def _told(self, position: int) -> None:
        """Something has changed, from a position on if it is not -1."""
        watch = self._watch
        if self._changed.done():
            return
        watch.position = max(watch.position, position)
        if not watch.write_changes():
            self._changed.set_result(watch.position)


class Resting:
    """A watch has no task, and one timer for all such watches rings for bookmarks and for its end."""

    __slots__ = ("_alarm", "_watch")
    rests = True

    def __init__(self, watch: OpenWatch) -> None:
        self._watch = watch
        self._alarm = 0

    def begin(self) -> None:
        """Has the watch rest from now on."""
        watch = self._watch
        watch.state = self
        watch.endpoint.cache.follow_changes(self._told, watch.view.interest)
        self._set_alarm()

    def end(self) -> None:
        """Has the sink make another task."""
        self.leave()
        if self._watch.sink is not None:
            self._watch.sink.wake()

    def leave(self) -> None:
        """Has the watch rest no more: it has another task."""
        watch = self._watch
        watch.state = WORKING
        watch.endpoint.cache.unfollow_changes(self._told, watch.view.interest)
        watch.endpoint.services.alarms.unset(self._alarm, self)

    def ring(self) -> None:
        """It is time for a bookmark or for the end, or soon."""
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
        """Something has changed, from a position on if it is not -1."""
        watch = self._watch
        if watch.state is not self:
            return
        watch.position = max(watch.position, position)
        if not watch.write_changes():
            self.end()
