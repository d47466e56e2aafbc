"""Reads of objects that cannot be decrypted now wait until the KMS plugin answers, or until their deadline.

A waiting request gives its seats back, and then passes the stages that have `Stage.again`, from "API Priority and
Fairness" on. The number of waiting requests is limited, altogether and for each user; more get 429 with the reason.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from time import monotonic

from gateway.http.exchange import Response
from gateway.http.status import StatusError, too_many_requests
from gateway.requests.context import RequestContext
from storage.errors import AwaitedObject

MOST = 1024  # requests that wait
MOST_EACH = MOST // 4  # of one user
READS = frozenset({"get", "list", "watch"})


class Unread:
    """The waiting requests of a process."""

    def __init__(self) -> None:
        self._waiting: Counter[str] = Counter()
        self.number = 0

    async def until_read(
        self, context: RequestContext, error: AwaitedObject, once_more: Callable[[], Awaitable[Response]]
    ) -> Response:
        """The answer of `once_more`, which is called until it no longer raises AwaitedObject; before that, it waits.

        Raises `error` for a write, StatusError 429 if too many requests wait, 504 with the reason at the request's
        deadline, and all other exceptions of `once_more`.
        """
        route = context.route
        if route is None or route.info.verb not in READS:
            raise error
        under_way, rereading = route.measures.in_flight, route.endpoint.database.rereading
        assert rereading is not None  # AwaitedObject is raised only if encryption is configured
        with self._place(context.request.user.name, error):
            try:
                async with asyncio.timeout(_left(context)):
                    while True:
                        _give_seats_back(context)
                        passes = rereading.passes
                        try:
                            return await once_more()
                        except AwaitedObject as again:
                            error = again
                        _give_seats_back(context)
                        under_way.value += 1  # as it is while its verb runs
                        try:
                            await rereading.after(passes)
                        finally:
                            under_way.value -= 1
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


def _give_seats_back(context: RequestContext) -> None:
    if context.seats is not None:
        context.seats.give_back()  # once more at the end, which does nothing


def _left(context: RequestContext) -> float | None:
    """The seconds until the request's deadline; for a watch, until it would end by timeoutSeconds."""
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
