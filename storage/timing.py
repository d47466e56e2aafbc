"""How long a caller has waited for etcd, where somebody wants to know."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from functools import wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class Waited:
    """Seconds that a task, and those that it has started, have waited for etcd since `begin`."""

    __slots__ = ("seconds",)

    def __init__(self) -> None:
        self.seconds = 0.0

    @classmethod
    def begin(cls) -> Waited:
        """Has the waits of the running task counted from now on."""
        waited = cls()
        _waited.set(waited)
        return waited


_waited: ContextVar[Waited | None] = ContextVar("waited_for_etcd", default=None)


def counted(wait: Callable[P, Coroutine[Any, Any, R]]) -> Callable[P, Coroutine[Any, Any, R]]:
    """Has the time in a function that waits for etcd counted."""

    @wraps(wait)
    async def timed(*arguments: P.args, **named: P.kwargs) -> R:
        waited = _waited.get()
        if waited is None:
            return await wait(*arguments, **named)
        began = time.monotonic()
        try:
            return await wait(*arguments, **named)
        finally:
            waited.seconds += time.monotonic() - began

    return timed


def counted_until_done(future: asyncio.Future[R]) -> asyncio.Future[R]:
    """The same future; the time until it is done is counted."""
    waited = _waited.get()
    if waited is not None:
        began = time.monotonic()

        def count(_: object) -> None:
            waited.seconds += time.monotonic() - began

        future.add_done_callback(count)
    return future
