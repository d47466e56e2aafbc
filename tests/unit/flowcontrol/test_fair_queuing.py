"""How a priority level divides its seats among flows, simulated without a clock."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache

from gateway.flowcontrol.fair_queuing import Dealing, Queue, Queuing
from gateway.flowcontrol.level import PriorityLevel, Refused
from gateway.flowcontrol.sharing import SeatLimits
from tests.unit.flowcontrol.virtual_loop import play

SEATS = 18
WARM = 20  # seconds before a burst
HANDS = {"alice": range(6), "hog": range(10, 16), "bob": range(20, 26)}


class Played:
    """A level, its users, and the times at which their requests were let in."""

    def __init__(self, seats: int = SEATS, length: int = 50) -> None:
        self.loop, self._random = asyncio.get_running_loop(), random.Random(1)
        self.level = PriorityLevel("l", self.loop.time)
        self.level.limit, self.level.limits = seats, SeatLimits(seats, seats, seats)
        self.level.queue_up(Queuing(128, 6, length))
        self.refused: Counter[str] = Counter()
        self.served: dict[str, list[float]] = {name: [] for name in HANDS}
        self._tasks: list[asyncio.Task[None]] = []

    async def one(self, user: str, seconds: float, seats: int = 1) -> None:
        """A request of a user, which lasts so long once it has its seats."""
        try:
            held = await self.level.take("s", seats, HANDS[user], 15)
        except Refused:
            self.refused[user] += 1
            await asyncio.sleep(0.05)
            return
        self.served[user].append(self.loop.time())
        await asyncio.sleep(seconds)
        held.give_back()

    def short(self) -> float:
        """A tenth of a second, more or less."""
        return 0.1 * self._random.uniform(0.6, 1.4)

    def keep(self, user: str, clients: int, seconds: Callable[[], float], pause: float = 0.0) -> None:
        """So many clients of a user ask again and again."""

        async def client(number: int) -> None:
            await asyncio.sleep(number * 0.25 if seconds() > 1 else 0)
            while True:
                await self.one(user, seconds())
                await asyncio.sleep(pause)

        self._tasks += [asyncio.create_task(client(number)) for number in range(clients)]

    def between(self, user: str, begin: float, end: float) -> int:
        """The requests of a user that were let in between two times."""
        return sum(begin <= at < end for at in self.served[user])


@cache
def burst(slow_requests: int) -> Played:
    """A user bursts for 5 s, after a while in which it held slow requests open."""

    async def course() -> Played:
        played = Played()
        played.keep("alice", 30, played.short)
        played.keep("bob", 1, lambda: 0.01, pause=0.1)
        played.keep("hog", slow_requests, lambda: 2.0)
        await asyncio.sleep(WARM)
        played.keep("hog", 125, played.short)
        await asyncio.sleep(5)
        return played

    return play(course())


def test_who_held_slow_requests_open_takes_nothing_from_others_later() -> None:
    without, beside = burst(0), burst(12)
    for second in range(WARM, WARM + 5):
        for user in ("alice", "bob"):
            usual = without.between(user, second, second + 1)
            assert beside.between(user, second, second + 1) >= 0.8 * usual, (user, second)
    assert beside.between("hog", WARM, WARM + 5) > 0.3 * without.between("hog", WARM, WARM + 5)


def test_who_took_what_others_left_owes_nothing_when_they_come() -> None:
    played = burst(0)
    alone = played.between("alice", WARM - 1, WARM)
    shared = [played.between("alice", second, second + 1) for second in range(WARM, WARM + 5)]
    assert alone > 9 * SEATS
    assert all(0.4 * alone < each < 0.6 * alone for each in shared), shared


def test_who_asks_for_little_waits_for_the_next_free_seat() -> None:
    played = burst(12)
    assert played.between("bob", WARM, WARM + 5) >= 0.8 * played.between("bob", WARM - 5, WARM) >= 30


def test_who_comes_beside_slow_readers_of_long_lists_waits_for_one_of_them() -> None:
    async def course() -> float:
        played = Played(seats=245)
        readers = [asyncio.create_task(played.one("hog", 5 + number / 10, seats=10)) for number in range(100)]
        await asyncio.sleep(1)  # 24 of them read
        await played.one("bob", 0.0, seats=10)
        for reader in readers:
            reader.cancel()
        return played.served["bob"][0]

    assert play(course()) == 5.0


def test_nobody_is_refused_while_there_is_room_in_the_hand() -> None:
    async def course() -> tuple[int, list[int]]:
        played = Played(length=10)
        tasks = [asyncio.create_task(played.one("hog", 9.0)) for _ in range(SEATS // 2)]
        await asyncio.sleep(0)
        tasks += [asyncio.create_task(played.one("hog", 1 + number / 9)) for number in range(SEATS // 2)]
        await asyncio.sleep(2)  # the seats of some queues are given back, those of others are not
        free = SEATS - played.level.in_use
        tasks += [asyncio.create_task(played.one("hog", 9.0)) for _ in range(free + 60)]
        await asyncio.sleep(0)
        waiting = [len(queue.waiting) for queue in played.level.queues() if queue.waiting]
        refused = played.refused["hog"]
        tasks.append(asyncio.create_task(played.one("hog", 9.0)))
        await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        return played.refused["hog"] - refused if not refused else -1, waiting

    assert play(course()) == (1, [10] * 6)


def test_a_full_queue_takes_more_while_seats_are_free_for_others() -> None:
    async def course() -> tuple[int, int]:
        played = Played(seats=20, length=1)
        tasks = [asyncio.create_task(played.one("hog", 9.0, seats=15)) for _ in range(9)]
        await asyncio.sleep(0)
        counted = played.level.waiting, played.refused["hog"]
        for task in tasks:
            task.cancel()
        return counted

    assert play(course()) == (8, 0)


def test_queues_of_a_hand_are_chosen_in_turn() -> None:
    queues, dealing = [Queue(index) for index in range(9)], Dealing()

    def chosen(hand: Sequence[int]) -> Counter[int]:
        return Counter(dealing.choose(hand, queues).index for _ in range(12))

    assert chosen((3, 5, 7)) == {3: 4, 5: 4, 7: 4}
    assert chosen((3, 20, 7)) == {3: 4, 7: 8}
    assert chosen((20,)) == {0: 12}
    queues[3].work, queues[3].executing = 0.0, 50  # what runs does not count
    assert chosen((3, 5)) == {3: 6, 5: 6}
