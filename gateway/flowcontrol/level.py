"""A priority level at work: its seats, and the queues in which requests wait for them (KEP-1040, "Fair Queuing").

Each queue has a virtual time at which its next request would start if all busy queues were served at the same time and
rate; the queue with the least time goes first. A request is charged an estimate when it starts, which is corrected to
its real duration when it ends.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum

from gateway.flowcontrol.demand import Demand
from gateway.flowcontrol.measures import FlowMeasures
from gateway.flowcontrol.retrying import Retrying
from gateway.flowcontrol.sharing import Limits

GUESS = 0.003  # seconds that a request is taken to last when it starts


class Cause(Enum):
    """Why a request is refused, under the names of kube-apiserver's metrics."""

    QUEUE_FULL = "queue-full"
    TIME_OUT = "time-out"
    CONCURRENCY_LIMIT = "concurrency-limit"
    CANCELLED = "cancelled"


class Refused(Exception):
    """There is no seat and no place to wait for one; the client may come again after so many seconds."""

    def __init__(self, cause: Cause, retry_after: int) -> None:
        super().__init__(cause.value)
        self.cause, self.retry_after = cause, retry_after


@dataclass(frozen=True, slots=True)
class Queuing:
    """How a level lets requests wait; without queues it refuses them."""

    queues: int = 0
    hand_size: int = 0
    length: int = 0


@dataclass(slots=True, eq=False)
class Waiting:
    """A request that waits for its seats."""

    seats: int
    turn: asyncio.Future[None]


@dataclass(slots=True, eq=False)
class Queue:
    """Requests of some flows, those that wait and those that have their seats."""

    index: int
    waiting: list[Waiting] = field(default_factory=list)  # few at most, mostly none: an empty deque takes 600 bytes
    executing: int = 0
    seats: int = 0  # of both
    in_use: int = 0
    start: float = 0.0

    @property
    def busy(self) -> bool:
        return bool(self.executing or self.waiting)


class Seats:
    """The seats that a request has until it gives them back, and keeps for `kept` seconds after that."""

    __slots__ = ("_level", "_measures", "_queue", "_since", "kept", "number")

    def __init__(self, level: Level, queue: Queue, number: int, since: float, measures: FlowMeasures) -> None:
        self._level, self._queue, self.number, self._since = level, queue, number, since
        self._measures = measures
        self.kept = 0.0
        measures.begin(number)

    def give_back(self) -> None:
        """May be called several times."""
        if not self.number:
            return
        number, self.number = self.number, 0
        self._measures.end(number, self._level.now() - self._since)
        if not self.kept:
            self._level.given_back(self._queue, number, self._since)
            return
        # until now it needed one seat: the others count for as long as they are kept
        now = self._level.now()
        since = now - (now - self._since) / number
        asyncio.get_running_loop().call_later(self.kept, self._level.given_back, self._queue, number, since)


class Level:
    """A priority level of a name; what its object says may change. `limit` is what it has of the server's seats now."""

    def __init__(self, name: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.name, self._clock = name, clock
        self.uid = ""
        self.exempt = False
        self.shares, self.lendable, self.borrowing = 0, 0, None  # type: int, int, int | None
        self.limits = Limits(0, 0, 0)
        self.limit = 0
        self.queuing = Queuing()
        self.demand = Demand(clock())
        self.retrying = Retrying()
        self.dispatched: Counter[str] = Counter()  # by flow schema
        self.refusals: Counter[tuple[str, Cause]] = Counter()  # by flow schema and cause
        self._measures: dict[str, FlowMeasures] = {}  # by flow schema
        self.executing = self.waiting = 0
        self.in_use = 0  # seats
        self.target = 0.0  # seats that it was to have when they were lent the last time
        self._wanted = 0  # seats in use and waited for
        self._queues = [Queue(0)]
        self._busy: dict[Queue, None] = {}
        self._virtual, self._advanced = 0.0, clock()

    def now(self) -> float:
        """The time by the level's clock."""
        return self._clock()

    def queue_up(self, queuing: Queuing) -> None:
        """Lets requests wait in other queues from now on; those that wait already go on doing so."""
        self.queuing = queuing
        self._queues = [
            self._queues[index] if index < len(self._queues) else Queue(index)
            for index in range(max(queuing.queues, 1))
        ]

    def sample_demand(self) -> int:
        """Ends a period of looking at what is wanted; the most seats that were wanted in it."""
        return self.demand.sample(self._clock())

    def widest(self) -> int:
        """The seats that a list may take at most; 0 is no limit of the level's own."""
        if self.exempt:
            return 0
        if not self.queuing.hand_size:
            return 1
        nominal = self.limits.nominal
        return max(1, min(-(-nominal * 15 // 100), nominal // self.queuing.hand_size))

    async def take(self, schema: str, seats: int, hand: Sequence[int], patience: float) -> Seats:
        """Seats for a request, when it is its turn. Raises Refused, after `patience` seconds at the latest."""
        return self.take_at_once(schema, seats, hand) or await self.wait(schema, seats, hand, patience)

    def take_at_once(self, schema: str, seats: int, hand: Sequence[int]) -> Seats | None:
        """Seats for a request where nobody waits and there are as many; None says that it has to `wait`."""
        now = self._advance()
        if self.waiting or not self._fits(seats):
            return None
        queue = self._choose(hand)
        self._add(queue, seats, now)
        self._measures_of(schema).waited.counts[0] += 1
        return self._start(schema, queue, seats, now)

    async def wait(self, schema: str, seats: int, hand: Sequence[int], patience: float) -> Seats:
        """Seats for a request that can't have them at once. Raises Refused, after `patience` seconds at the latest."""
        queue = self._choose(hand)
        now = self._advance()
        if not self.queuing.queues:
            raise self._refusal(schema, Cause.CONCURRENCY_LIMIT)
        if len(queue.waiting) >= self.queuing.length:
            raise self._refusal(schema, Cause.QUEUE_FULL)
        waiting = Waiting(seats, asyncio.get_running_loop().create_future())
        self._add(queue, seats, now)
        queue.waiting.append(waiting)
        self.waiting += 1
        measures = self._measures_of(schema)
        measures.waiting.inc()
        self.dispatch()
        try:
            async with asyncio.timeout(patience):
                await waiting.turn
        except (TimeoutError, asyncio.CancelledError) as error:
            self._leave(queue, waiting)
            measures.refused.observe(self._clock() - now)
            refusal = self._refusal(schema, Cause.TIME_OUT if isinstance(error, TimeoutError) else Cause.CANCELLED)
            if isinstance(error, TimeoutError):
                raise refusal from None
            raise
        finally:
            measures.waiting.dec()
        began = self._clock()
        measures.waited.observe(began - now)
        return self._start(schema, queue, seats, began, charged=True)

    def _choose(self, hand: Sequence[int]) -> Queue:
        """The queue of a hand with the least to do; of one dealt from more queues than there are now, any."""
        queues = self._queues
        best = queues[hand[0]] if hand[0] < len(queues) else queues[0]
        for index in hand:
            if not best.seats:
                return best
            if index < len(queues) and queues[index].seats < best.seats:
                best = queues[index]
        return best

    def _fits(self, seats: int) -> bool:
        if seats > self.limit:
            return bool(self.limit) and not self.in_use  # as much as there will ever be
        return self.in_use + seats <= self.limit

    def _advance(self) -> float:
        """Brings the virtual time up to date; the time."""
        now = self._clock()
        if self._busy:
            self._virtual += (now - self._advanced) * min(self._wanted, max(self.limit, 1)) / len(self._busy)
        self._advanced = now
        return now

    def _add(self, queue: Queue, seats: int, now: float) -> None:
        if not queue.busy:
            queue.start = self._virtual
            self._busy[queue] = None
        queue.seats += seats
        self._wanted += seats
        self.demand.note(self._wanted, now)

    def _drop(self, queue: Queue, seats: int) -> None:
        queue.seats -= seats
        self._wanted -= seats
        self.demand.note(self._wanted, self._clock())
        if not queue.busy:
            self._busy.pop(queue, None)

    def _occupy(self, queue: Queue, seats: int) -> None:
        queue.executing += 1
        self.executing += 1
        self.in_use += seats
        queue.in_use += seats
        queue.start += GUESS * seats

    def _start(self, schema: str, queue: Queue, seats: int, now: float, charged: bool = False) -> Seats:
        if not charged:
            self._occupy(queue, seats)
        self.dispatched[schema] += 1
        return Seats(self, queue, seats, now, self._measures_of(schema))

    def _measures_of(self, schema: str) -> FlowMeasures:
        found = self._measures.get(schema)
        if found is None:
            found = self._measures[schema] = FlowMeasures(self.name, schema)
        return found

    def _leave(self, queue: Queue, waiting: Waiting) -> None:
        """Undoes what was done for a request that does not wait any more."""
        self._advance()
        if waiting in queue.waiting:
            queue.waiting.remove(waiting)
            self.waiting -= 1
            self._drop(queue, waiting.seats)
        else:  # its turn came in the same moment
            self._vacate(queue, waiting.seats)
        self.dispatch()

    def _vacate(self, queue: Queue, seats: int) -> None:
        queue.executing -= 1
        self.executing -= 1
        self.in_use -= seats
        queue.in_use -= seats
        self._drop(queue, seats)

    def given_back(self, queue: Queue, seats: int, since: float) -> None:
        """A request is over: its seats go to those who wait."""
        now = self._advance()
        queue.start -= (GUESS - (now - since)) * seats
        self._vacate(queue, seats)
        if self.waiting:
            self.dispatch()

    def dispatch(self) -> None:
        """Gives free seats to those whose turn it is."""
        while self.waiting:
            queue = min((each for each in self._busy if each.waiting), key=lambda each: each.start)
            if not self._fits(queue.waiting[0].seats):
                return
            waiting = queue.waiting.pop(0)
            self.waiting -= 1
            self._occupy(queue, waiting.seats)
            if not waiting.turn.done():
                waiting.turn.set_result(None)

    def _refusal(self, schema: str, cause: Cause) -> Refused:
        self.refusals[schema, cause] += 1
        return Refused(cause, self.retrying.refused(int(self._clock())))

    def queues(self) -> list[Queue]:
        """The queues, those that are being given up included while there is somebody in them."""
        return [*self._queues, *(queue for queue in self._busy if queue not in self._queues)]
