"""Where a request's time goes: what each of its stages took, and what was waited for within them, under names.

Whoever waits for somebody else on a request's behalf (etcd, a webhook) says so here; metrics, traces, the log of slow
requests and audit annotations read it, and measure nothing themselves.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from functools import wraps
from time import monotonic
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


MOST = 1000


class Times:
    """The times of one request, seconds of the monotonic clock.

    `began` is when it came. `waits` are a name, a beginning and an end each: at most `MOST`, the rest is left out.
    """

    def __init__(self, began: float) -> None:
        self.began = began
        self.waits: list[tuple[str, float, float]] = []

    def took(self, name: str, began: float, ended: float) -> None:
        """Something of that name went on from one moment to another; what has a name may come several times."""
        if len(self.waits) < MOST:
            self.waits.append((name, began, ended))

    def seconds(self, name: str) -> float:
        """How long all that has that name took; 0 for what was done at once."""
        return sum(ended - began for each, began, ended in self.waits if each == name)


current: ContextVar[Times | None] = ContextVar("times", default=None)
"""Those of the request on whose behalf a task runs; None where it is nobody's."""


def timed(name: str) -> Callable[[Callable[P, Coroutine[Any, Any, R]]], Callable[P, Coroutine[Any, Any, R]]]:
    """Has the time in a coroutine function told, under a name, to the request that it is called for."""

    def decorated(wait: Callable[P, Coroutine[Any, Any, R]]) -> Callable[P, Coroutine[Any, Any, R]]:
        @wraps(wait)
        async def measured(*arguments: P.args, **named: P.kwargs) -> R:
            times = current.get()
            if times is None:
                return await wait(*arguments, **named)
            began = monotonic()
            try:
                return await wait(*arguments, **named)
            finally:
                times.took(name, began, monotonic())

        return measured

    return decorated


def timed_until_done(name: str, future: asyncio.Future[R]) -> asyncio.Future[R]:
    """The same future; the time until it is done is told to the request that is waiting."""
    times = current.get()
    if times is not None:
        began = monotonic()
        future.add_done_callback(lambda _: times.took(name, began, monotonic()))
    return future
