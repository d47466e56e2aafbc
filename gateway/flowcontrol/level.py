"""A priority level at work: its seats, and the queues in which requests wait for them (KEP-1040, "Fair Queuing").

`fair_queuing.py` says whose turn it is.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from enum import Enum

from gateway.flowcontrol.demand import Demand
from gateway.flowcontrol.fair_queuing import GUESS, Dealing, Queue, QueuedRequest, Queuing, VirtualTime, work_of
from gateway.flowcontrol.metrics import FlowMeasures
from gateway.flowcontrol.retry_after import Retrying
from gateway.flowcontrol.sharing import SeatLimits


class Cause(Enum):
    """Why a request is refused, under the names of kube-apiserver's metrics."""

    QUEUE_FULL = "queue-full"
    TIME_OUT = "time-out"
    CONCURRENCY_LIMIT = "concurrency-limit"
    CANCELLED = "cancelled"


class Refused(Exception):
    """A request gets no seat, and may not wait for one any longer. The client may retry after `retry_after` seconds."""

    def __init__(self, cause: Cause, retry_after: int) -> None:
        super().__init__(cause.value)
        self.cause, self.retry_after = cause, retry_after


class Seats:
    """The seats that a request has until it gives them back, and keeps for `kept` seconds after that."""

    __slots__ = ("_kept", "_level", "_measures", "_queue", "_since", "number")

    def __init__(
        self, level: PriorityLevel, queue: Queue, number: int, kept: float, since: float, measures: FlowMeasures
    ) -> None:
        self._level, self._queue, self.number, self._kept, self._since = level, queue, number, kept, since
        self._measures = measures
        measures.begin(number)

    def give_back(self) -> None:
        """Gives the seats back, after `kept` seconds if there are any. A second call does nothing."""
        if not self.number:
            return
        number, self.number = self.number, 0
        level, kept = self._level, self._kept
        now = level.advance()
        self._measures.end(number, now - self._since)
        running = 1 if kept else number
        level.ended(self._queue, running, -GUESS * running, now)
        if kept:
            asyncio.get_running_loop().call_later(kept, level.given_back_late, self._queue, number)
        else:
            level.given_back(self._queue, number, now)


class PriorityLevel:
    """A priority level, whose configuration may change. `limit` is its present number of seats, with borrowed ones."""

    def __init__(self, name: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.name, self._clock = name, clock
        self.uid = ""
        self.exempt = False
        self.shares, self.lendable, self.borrowing = 0, 0, None  # type: int, int, int | None
        self.limits = SeatLimits(0, 0, 0)
        self.limit = 0
        self.queuing = Queuing()
        self.demand = Demand(clock())
        self.retrying = Retrying()
        self.dispatched: Counter[str] = Counter()  # by flow schema
        self.refusals: Counter[tuple[str, Cause]] = Counter()  # by flow schema and cause
        self._measures: dict[str, FlowMeasures] = {}  # by flow schema
        self.executing = self.waiting = 0
        self.in_use = 0  # seats
        self.target = 0.0  # seats that the last round of lending aimed at
        self._wanted = 0  # seats in use and waited for
        self._queues = [Queue(0)]
        self._dealing, self._turns = Dealing(), VirtualTime(clock())

    @property
    def _virtual(self) -> float:
        """The virtual time as of the last `advance`."""
        return self._turns.now

    def now(self) -> float:
        """The time by the level's clock."""
        return self._clock()

    def queue_up(self, queuing: Queuing) -> None:
        """Changes the queues for new requests. Requests that wait already stay where they are."""
        self.queuing = queuing
        self._queues = [
            self._queues[index] if index < len(self._queues) else Queue(index)
            for index in range(max(queuing.queues, 1))
        ]

    def sample_demand(self) -> int:
        """Ends a period of the demand, and returns its peak in seats."""
        return self.demand.sample(self._clock())

    def widest(self) -> int:
        """The seats that a request may take at most; 0 if the level, which is exempt, sets no limit."""
        if self.exempt:
            return 0
        if not self.queuing.hand_size:
            return 1
        nominal = self.limits.nominal
        return max(1, min(-(-nominal * 15 // 100), nominal // self.queuing.hand_size))

    async def take(self, schema: str, seats: int, hand: Sequence[int], patience: float, kept: float = 0.0) -> Seats:
        """Seats for a request, when it is its turn. Raises Refused, after `patience` seconds at the latest."""
        return self.take_at_once(schema, seats, hand, kept) or await self.wait(schema, seats, hand, patience, kept)

    def take_at_once(self, schema: str, seats: int, hand: Sequence[int], kept: float = 0.0) -> Seats | None:
        """Seats for a request if no other waits and enough are free; None if it has to `wait`.

        The request keeps them for `kept` seconds after its end.
        """
        if self.waiting or not self._fits(seats):
            return None
        now = self.advance()
        queue = self._dealing.choose(hand, self._queues)
        queue.join(self._virtual, now)
        self._want(seats, now)
        self._begin(queue, seats, kept, now)
        self._measures_of(schema).waited.counts[0] += 1
        return self._start(schema, queue, seats, kept, now)

    async def wait(self, schema: str, seats: int, hand: Sequence[int], patience: float, kept: float = 0.0) -> Seats:
        """Seats for a request that can't have them at once. Raises Refused, after `patience` seconds at the latest."""
        queue = self._dealing.choose(hand, self._queues)
        now = self.advance()
        if not self.queuing.queues:
            raise self._refusal(schema, Cause.CONCURRENCY_LIMIT)
        if len(queue.waiting) >= self.queuing.length and self.in_use >= self.limit:
            raise self._refusal(schema, Cause.QUEUE_FULL)
        turn = asyncio.get_running_loop().create_future()
        waiting = QueuedRequest(seats, kept, work_of(seats, kept), self._virtual, turn)
        queue.add(waiting, now)
        self._turns.busy.setdefault(queue)
        self.waiting += 1
        self._want(seats, now)
        measures = self._measures_of(schema)
        measures.waiting.inc()
        self.dispatch()
        try:
            async with asyncio.timeout(patience):
                await turn
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
        return self._start(schema, queue, seats, kept, began)

    def _fits(self, seats: int) -> bool:
        if seats > self.limit:
            return bool(self.limit) and not self.in_use  # it will never get more, so it runs alone
        return self.in_use + seats <= self.limit

    def advance(self) -> float:
        """Brings the virtual time up to date. Returns the time by the level's clock."""
        now = self._clock()
        self._turns.advance(now, min(self._wanted, max(self.limit, 1)))
        return now

    def _want(self, seats: int, now: float) -> None:
        self._wanted += seats
        self.demand.note(self._wanted, now)

    def _begin(self, queue: Queue, seats: int, kept: float, now: float) -> None:
        self._turns.served(queue, now)
        self.executing += 1
        self.in_use += seats
        queue.begin(seats, 1 if kept else seats, work_of(seats, kept), now)

    def _start(self, schema: str, queue: Queue, seats: int, kept: float, now: float) -> Seats:
        self.dispatched[schema] += 1
        return Seats(self, queue, seats, kept, now, self._measures_of(schema))

    def forget_others(self, schemas: Collection[str]) -> None:
        """Drops the metrics of all flow schemas but these: the others do not exist any more."""
        for schema in self._measures.keys() - schemas:
            del self._measures[schema]
        for schema in self.dispatched.keys() - schemas:
            del self.dispatched[schema]
        for key in [key for key in self.refusals if key[0] not in schemas]:
            del self.refusals[key]

    def _measures_of(self, schema: str) -> FlowMeasures:
        found = self._measures.get(schema)
        if found is None:
            found = self._measures[schema] = FlowMeasures(self.name, schema)
        return found

    def _leave(self, queue: Queue, waiting: QueuedRequest) -> None:
        """Cleans up after a request that has given up waiting."""
        now = self.advance()
        if waiting in queue.waiting:
            queue.remove(waiting, now)
            self.waiting -= 1
            self._turns.leaves(queue)
            self._want(-waiting.seats, now)
            self.dispatch()
        else:  # its turn came in the same moment
            self.ended(queue, 1 if waiting.kept else waiting.seats, -waiting.work, now)
            self.given_back(queue, waiting.seats, now)

    def ended(self, queue: Queue, running: int, correction: float, now: float) -> None:
        """Notes that a request is over, of whose seats `running` were charged. `correction` is in seat-seconds."""
        self.executing -= 1
        queue.end(running, correction, now)
        self._turns.leaves(queue)

    def given_back_late(self, queue: Queue, seats: int) -> None:
        """Gives back the seats that a request has kept after its end."""
        self.given_back(queue, seats, self.advance())

    def given_back(self, queue: Queue, seats: int, now: float) -> None:
        """Gives back the seats of a request that is over, to requests that wait."""
        self.in_use -= seats
        queue.in_use -= seats
        self._want(-seats, now)
        if self.waiting:
            self.dispatch()

    def dispatch(self) -> None:
        """Gives free seats to the requests whose turn it is."""
        now = self._clock()
        while self.waiting:
            queue = self._turns.next(now)
            waiting = queue.waiting[0]
            if not self._fits(waiting.seats):
                return
            self._begin(queue, waiting.seats, waiting.kept, now)
            queue.remove(waiting, now)
            self.waiting -= 1
            if not waiting.turn.done():
                waiting.turn.set_result(None)

    def _refusal(self, schema: str, cause: Cause) -> Refused:
        self.refusals[schema, cause] += 1
        return Refused(cause, self.retrying.refused(int(self._clock())))

    def queues(self) -> list[Queue]:
        """All queues, with those that were removed but still have requests."""
        return [*self._queues, *(queue for queue in self._turns.busy if queue not in self._queues)]
