"""A connection that is idle for too long is closed once; one with requests is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gateway.http.idle_connections import IdleConnection

SECONDS = 10.0


class Timer:
    """A call that is to come."""

    def __init__(self, at: float, call: Callable[[], None]) -> None:
        self.at, self.call = at, call
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class Loop:
    """What is asked of an event loop, with a clock that a test sets forward."""

    def __init__(self) -> None:
        self._now, self._timers = 0.0, list[Timer]()

    def time(self) -> float:
        return self._now

    def call_later(self, delay: float, callback: Callable[..., None], *given: Any) -> Timer:
        self._timers.append(Timer(self._now + delay, lambda: callback(*given)))
        return self._timers[-1]

    def goes_on(self, seconds: float) -> None:
        """Lets so many seconds pass, and calls the timers that are due in them."""
        end = self._now + seconds
        while due := [each for each in self._timers if each.at <= end and not each.cancelled]:
            first = min(due, key=lambda each: each.at)
            self._timers.remove(first)
            self._now = first.at
            first.call()
        self._now = end


@pytest.fixture
def loop() -> Any:
    return Loop()


def test_what_stays_idle_is_over_after_its_time(loop: Any) -> None:
    over = list[float]()
    IdleConnection(loop, SECONDS).begin(lambda: over.append(loop.time()))
    loop.goes_on(5 * SECONDS)
    assert over == [SECONDS]


def test_requests_that_come_put_the_end_off(loop: Any) -> None:
    over = list[float]()
    idling = IdleConnection(loop, SECONDS)
    for _ in range(3):
        idling.begin(lambda: over.append(loop.time()))
        loop.goes_on(0.6 * SECONDS)
        idling.since = None  # a request has come
    assert not over
    last = loop.time()
    idling.begin(lambda: over.append(loop.time()))
    loop.goes_on(5 * SECONDS)
    assert over == [pytest.approx(last + SECONDS)]


def test_what_is_busy_or_has_ended_is_not_over(loop: Any) -> None:
    over = list[float]()
    busy, ended = IdleConnection(loop, SECONDS), IdleConnection(loop, SECONDS)
    for each in (busy, ended):
        each.begin(lambda: over.append(loop.time()))
    busy.since = None
    ended.end()
    loop.goes_on(5 * SECONDS)
    assert not over
