"""Reads of what can't be decrypted at present wait until the service that it takes answers, or until their deadline.

A request that waits has given back its seats, and comes in again as any other afterwards. So many may wait, and a part
of them for one user: others are refused with 429 and the reason.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from time import monotonic

from gateway.flowcontrol.limiting import Limiter
from gateway.http.status import StatusError, too_many_requests
from gateway.requests.context import RequestContext
from storage.errors import AwaitedObject

MOST = 1024  # requests that wait
MOST_EACH = MOST // 4  # of one user
READS = frozenset({"get", "list", "watch"})

Run = Callable[[RequestContext], Awaitable[None]]


class Unread:
    """The requests of a process that wait."""

    def __init__(self, limiter: Limiter) -> None:
        self._limiter = limiter
        self._waiting: Counter[str] = Counter()
        self.number = 0

    async def until_read(self, context: RequestContext, error: AwaitedObject, run: Run) -> None:
        """Does again what has met something unreadable, when that may be readable, until it does not meet any.

        Raises StatusError 504 with the reason at the request's deadline, 429 where too many wait, what `run` does, and
        the error itself for a write.
        """
        route = context.route
        assert route is not None
        if route.info.verb not in READS:
            raise error
        rereading = route.endpoint.database.rereading
        assert rereading is not None  # nothing is awaited where nothing is encrypted
        with self._place(context.request.user.name, error):
            try:
                async with asyncio.timeout(_left(context)):
                    while True:
                        passes = rereading.passes
                        try:
                            await run(context)
                            return
                        except AwaitedObject as again:
                            error = again
                        if context.seats is not None:
                            context.seats.give_back()
                            context.seats = None
                        await rereading.after(passes)
                        turn = self._limiter.enter(context)
                        if turn is not None:
                            await turn
            except TimeoutError:
                raise _late(error) from None

    @contextmanager
    def _place(self, user: str, error: AwaitedObject) -> Iterator[None]:
        if self.number >= MOST or self._waiting[user] >= MOST_EACH:
            raise too_many_requests(f"{error.reason}: too many requests wait until it can be read")
        self.number += 1
        self._waiting[user] += 1
        try:
            yield
        finally:
            self.number -= 1
            self._waiting[user] -= 1
            if not self._waiting[user]:
                del self._waiting[user]


def _left(context: RequestContext) -> float | None:
    """The seconds until a request's deadline: a watch, which has none, does not wait for longer than it lasts."""
    route, timeout = context.route, context.timeout
    assert route is not None
    if timeout is None and route.info.verb == "watch":
        timeout = route.endpoint.services.settings.min_request_timeout
        asked = context.request.parameter("timeoutSeconds")
        if asked.isdecimal():
            timeout = min(float(asked), timeout)
    return None if timeout is None else max(0.0, context.began + timeout - monotonic())


def _late(error: AwaitedObject) -> StatusError:
    text = f"Timeout: request did not complete within the allotted timeout: {error.reason}"
    return StatusError(504, "Timeout", text, {})
