"""Limits how many requests run at the same time, between authentication and the verb."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from gateway.flowcontrol.configuration import FlowConfiguration
from gateway.flowcontrol.level import Cause, Refused, Seats
from gateway.flowcontrol.sharing import SeatClaim, divided
from gateway.flowcontrol.work import Sizes, after_write, seats_of
from gateway.http.exchange import TEXT_TYPE, Request, Response
from gateway.http.request_info import RequestInfo
from gateway.http.user import MASTERS_GROUP

PERIOD = 10.0  # seconds between two rounds of lending
QUEUE_TIMEOUT = 15.0  # seconds that a request without a deadline waits: a quarter of --request-timeout's default
MAX_QUEUE_TIMEOUT = 60.0
_LONG_RUNNING_VERBS = frozenset({"proxy"})
_LONG_RUNNING_SUBRESOURCES = frozenset({"attach", "exec", "proxy", "log", "portforward"})
_PROFILES = "/debug/pprof/"
_READING_VERBS = frozenset({"get", "list", "watch"})


class Held(Protocol):
    """What a request holds while it runs, such as seats."""

    def give_back(self) -> None: ...


class Entering(Protocol):
    """A request that comes in: its timeout in seconds or None, and the seats that it gives back at its end."""

    request: Request
    timeout: float | None
    seats: Held | None


class Limiter(Protocol):
    """Decides when requests may run. The server's own writes do not go through it."""

    def enter(self, context: Entering) -> Awaitable[None] | None:
        """Lets a request in at once, or after the returned awaitable. The request's user and info are known.

        Sets the context's `seats` if there are any to give back. This, or the awaitable, raises Refused.
        """
        ...


class FlowControl:
    """API Priority and Fairness."""

    def __init__(
        self, configuration: FlowConfiguration, sizes: Sizes, interested: Callable[[RequestInfo], int]
    ) -> None:
        """`interested` returns how many watches a write may have to notify."""
        self.configuration, self._sizes, self._interested = configuration, sizes, interested

    def enter(self, context: Entering) -> Awaitable[None] | None:
        request = context.request
        info = request.info
        if is_long_running(info):
            return None
        flow = self.configuration.flow(request.user, info)
        request.flow_headers = flow.headers
        level = flow.level
        if level.exempt:
            level.dispatched[flow.schema] += 1
            return None
        patience = QUEUE_TIMEOUT if context.timeout is None else min(context.timeout / 4, MAX_QUEUE_TIMEOUT)
        seats, kept = 1, 0.0
        if info.is_resource:
            if info.verb in _READING_VERBS:
                seats = seats_of(request, self._sizes, level.widest())
            else:
                seats, kept = after_write(info, self._interested(info), level.widest())
        held = level.take_at_once(flow.schema, seats, flow.hand, kept)
        if held is None:
            return _wait(level.wait(flow.schema, seats, flow.hand, patience, kept), context)
        context.seats = held
        return None

    async def run(self) -> None:
        """Lends seats that levels do not need to other levels, every `PERIOD` seconds, until cancelled."""
        while True:
            await asyncio.sleep(PERIOD)
            self.lend()

    def lend(self) -> None:
        """One round of lending."""
        claims, levels = [], []
        for level in self.configuration.levels.values():
            peak = level.sample_demand()
            if level.exempt:
                continue
            limits = level.limits
            least = max(limits.least, min(limits.nominal, peak))
            levels.append(level)
            level.target = max(least, level.demand.smoothed)
            claims.append(SeatClaim(least, level.target, limits.most))
        for level, seats in zip(levels, divided(self.configuration.seats, claims), strict=True):
            level.limit = round(seats)
            level.dispatch()


async def _wait(turn: Awaitable[Seats], context: Entering) -> None:
    context.seats = await turn


class _Place:
    """One place among the requests under way."""

    __slots__ = ("_given", "_under_way", "_writes")

    def __init__(self, under_way: list[int], writes: bool) -> None:
        self._under_way, self._writes, self._given = under_way, writes, False
        under_way[writes] += 1

    def give_back(self) -> None:
        if not self._given:
            self._given = True
            self._under_way[self._writes] -= 1


class InFlight:
    """Limits the numbers of reads and of writes at the same time (0 is no limit), but refuses none of system:masters.

    It is used with --enable-priority-and-fairness=false. `altogether` limits all of them together, system:masters
    too; 0 is no limit.
    """

    def __init__(self, reads: int, writes: int) -> None:
        self._most = (reads, writes)
        self.under_way, self.altogether = [0, 0], 0

    def enter(self, context: Entering) -> Awaitable[None] | None:
        info = context.request.info
        if is_long_running(info) or info.verb == "watch":
            return None
        writes = info.verb not in _READING_VERBS
        most = self._most[writes]
        if self.altogether and sum(self.under_way) >= self.altogether:
            raise Refused(Cause.CONCURRENCY_LIMIT, retry_after=1)
        if not (most or self.altogether):
            return None
        if most and self.under_way[writes] >= most:
            if MASTERS_GROUP in context.request.user.groups:
                return None
            raise Refused(Cause.CONCURRENCY_LIMIT, retry_after=1)
        context.seats = _Place(self.under_way, writes)
        return None


def is_long_running(info: RequestInfo) -> bool:
    """Whether the client decides how long a request lasts. Watches do not count, because their start is work."""
    if not info.is_resource:
        return info.path.startswith(_PROFILES)
    if info.verb in _LONG_RUNNING_VERBS:
        return True
    return bool(info.subresource) and info.subresource in _LONG_RUNNING_SUBRESOURCES and info.verb != "watch"


def too_many(refused: Refused) -> Response:
    """The answer 429, as kube-apiserver's filters give it."""
    headers = [(b"retry-after", b"%d" % refused.retry_after), (b"x-content-type-options", b"nosniff")]
    return Response(429, b"Too many requests, please try again later.\n", TEXT_TYPE, headers, encoded=True)
