"""The queues of a priority level, and the virtual time by which they are served (KEP-1040, "Fair Queuing").

Virtual time is in seat-seconds: the service of a queue that was always busy, if all busy queues were served equally.
A queue's start is the virtual time at which its next request would start. It grows by an estimate when a
request starts, and by what the request really takes while it runs. kube-apiserver adds the latter only when the request
ends. So in kube-apiserver flows whose requests have not ended yet can take all seats for a while.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

GUESS = 0.003  # estimated duration of a request, in seconds
LEAD = 0.1  # seat-seconds that a queue may be ahead of the virtual time when it is served


@dataclass(frozen=True, slots=True)
class Queuing:
    """How a level lets requests wait; without queues it refuses them."""

    queues: int = 0
    hand_size: int = 0
    length: int = 0


@dataclass(slots=True, eq=False)
class QueuedRequest:
    """A request that waits for its seats."""

    seats: int
    kept: float  # seconds for which it keeps them after its end
    work: float  # the estimate, in seat-seconds
    arrival: float  # in virtual time
    turn: asyncio.Future[None]


@dataclass(slots=True, eq=False)
class Queue:
    """Requests of some flows, those that wait and those that run."""

    index: int
    waiting: list[QueuedRequest] = field(
        default_factory=list
    )  # most queues are empty, and an empty deque takes 600 bytes
    executing: int = 0
    in_use: int = 0  # seats
    work: float = 0.0  # of waiting requests, in seat-seconds
    _running: int = 0  # seats of running requests, charged by elapsed time
    start: float = 0.0  # in virtual time, as of the last charge
    _charged: float = 0.0  # the time of the last charge

    @property
    def busy(self) -> bool:
        return bool(self.executing or self.waiting)

    def start_at(self, now: float) -> float:
        """The virtual time at which the next request would start."""
        return self.start + self._running * (now - self._charged)

    def join(self, virtual: float, now: float) -> None:
        """Called for a request that arrives at virtual time `virtual` while no request waits here.

        The queue's start is then at least `virtual`. Without this bound a queue that always has a request, but uses
        less than its share, would save up the rest. It could take all seats later.
        """
        if not self.executing:
            self.start, self._charged = virtual, now
        elif self.charge(now) < virtual:
            self.start = virtual

    def add(self, waiting: QueuedRequest, now: float) -> None:
        """Adds a request that waits."""
        if not self.waiting:
            self.join(waiting.arrival, now)
        self.waiting.append(waiting)
        self.work += waiting.work

    def remove(self, waiting: QueuedRequest, now: float) -> None:
        """Removes a request that waits."""
        self.waiting.remove(waiting)
        self.work = self.work - waiting.work if self.waiting else 0.0
        self.charge(now)
        self._bound()

    def begin(self, seats: int, running: int, work: float, now: float) -> None:
        """Notes that a request starts: with `seats`, of which `running` are charged over time, and `work` at once."""
        self.charge(now)
        self.executing += 1
        self.in_use += seats
        self._running += running
        self.start += work

    def end(self, running: int, correction: float, now: float) -> None:
        """Notes that a request is over: `running` seats are charged no more, and `correction` is added to the charge.

        Its seats may stay in use for longer.
        """
        self.charge(now)
        self.executing -= 1
        self._running -= running
        self.start += correction
        self._bound()

    def charge(self, now: float) -> float:
        """Charges the seats of running requests until `now`. Returns the new start."""
        if now != self._charged:
            self.start += self._running * (now - self._charged)
            self._charged = now
        return self.start

    def _bound(self) -> None:
        if self.waiting and self.start < self.waiting[0].arrival:
            self.start = self.waiting[0].arrival


def work_of(seats: int, kept: float) -> float:
    """The estimated seat-seconds of a request.

    `kept`: for how many seconds the request keeps its seats after its end. If it keeps any, it counts as one seat while
    it runs.
    """
    return GUESS + seats * kept if kept else GUESS * seats


class VirtualTime:
    """The virtual time of a level, and its busy queues, the least recently served first.

    A queue that becomes busy is put last.
    """

    def __init__(self, now: float) -> None:
        self.now, self._advanced = 0.0, now
        self.busy: dict[Queue, None] = {}

    def advance(self, now: float, seats: int) -> None:
        """Brings the virtual time up to `now`.

        `seats`: the smaller of the seats wanted and the seats available since the last call.
        """
        if self.busy:
            self.now += (now - self._advanced) * seats / len(self.busy)
        self._advanced = now

    def next(self, now: float) -> Queue:
        """The queue whose oldest waiting request would end first; of several, the one that was served least recently.

        There must be a request that waits.
        """
        queues = (each for each in self.busy if each.waiting)
        return min(queues, key=lambda each: each.start_at(now) + each.waiting[0].work)

    def served(self, queue: Queue, now: float) -> None:
        """Notes that a request of this queue starts.

        A queue that is far ahead of the virtual time had seats that others did not want. The virtual time catches up
        with it, so that it need not wait for the others later.
        """
        ahead = queue.charge(now) - LEAD
        if ahead > self.now:
            self.now = ahead
        self.busy.pop(queue, None)
        self.busy[queue] = None

    def leaves(self, queue: Queue) -> None:
        """Removes a queue from the busy ones if it has become idle, after a request has left it."""
        if not queue.busy:
            self.busy.pop(queue, None)


class Dealing:
    """Chooses one of the queues of a hand for a request."""

    __slots__ = ("_chosen",)

    def __init__(self) -> None:
        self._chosen = 0

    def choose(self, hand: Sequence[int], queues: Sequence[Queue]) -> Queue:
        """The queue of a hand in which the least work waits; queues with equal work take turns.

        `hand` has indexes of `queues`. Indexes of queues that do not exist any more are skipped; if none is left, the
        result is the first queue of the level.
        """
        size = len(hand)
        self._chosen = first = (self._chosen + 1) % size
        best: Queue | None = None
        for position in range(first, first + size):
            index = hand[position % size]
            if index >= len(queues):
                continue
            queue = queues[index]
            if not queue.waiting:
                return queue
            if best is None or queue.work < best.work:
                best = queue
        return best or queues[0]
