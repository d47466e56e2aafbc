"""The seats of a priority level: which requests get them, which wait, and which are refused."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.flowcontrol.fair_queuing import Queuing
from gateway.flowcontrol.level import Cause, PriorityLevel, Refused, Seats
from gateway.flowcontrol.sharing import SeatLimits


class Clock:
    """A clock that a test turns."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def level(limit: int, queues: int = 0, length: int = 50, clock: Clock | None = None) -> PriorityLevel:
    made = PriorityLevel("l", clock or Clock())
    made.limits, made.limit = SeatLimits(limit, limit, limit), limit
    if queues:
        made.queue_up(Queuing(queues, 1, length))
    return made


async def test_without_queues_who_finds_no_seat_is_refused() -> None:
    made = level(2)
    first = await made.take("s", 1, (0,), 1)
    await made.take("s", 1, (0,), 1)
    with pytest.raises(Refused) as refused:
        await made.take("s", 1, (0,), 1)
    assert (refused.value.cause, refused.value.retry_after) == (Cause.CONCURRENCY_LIMIT, 1)
    first.give_back()
    first.give_back()  # a second call does nothing
    await made.take("s", 1, (0,), 1)
    assert made.in_use == 2


async def test_a_full_queue_refuses_and_another_does_not() -> None:
    made = level(1, queues=2, length=1)
    await made.take("s", 1, (0,), 1)
    waiting = [asyncio.ensure_future(made.take("s", 1, (queue,), 60)) for queue in (0, 1)]
    await asyncio.sleep(0)
    with pytest.raises(Refused) as refused:
        await made.take("s", 1, (0,), 1)
    assert refused.value.cause is Cause.QUEUE_FULL
    assert made.waiting == 2
    for each in waiting:
        each.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert (made.waiting, made.in_use) == (0, 1)


async def test_patience_ends() -> None:
    made = level(1, queues=1)
    seats = await made.take("s", 1, (0,), 1)
    with pytest.raises(Refused) as refused:
        await made.take("s", 1, (0,), 0.01)
    assert refused.value.cause is Cause.TIME_OUT
    seats.give_back()
    assert (made.in_use, made.waiting, [queue for queue in made.queues() if queue.busy]) == (0, 0, [])


async def test_a_flow_of_many_requests_does_not_hold_up_one_of_few() -> None:
    clock = Clock()
    made = level(1, queues=2, clock=clock)
    order: list[str] = []

    async def one(name: str, queue: int) -> None:
        seats = await made.take("s", 1, (queue,), 60)
        order.append(name)
        await asyncio.sleep(0)
        clock.now += 1.0
        seats.give_back()

    async with asyncio.TaskGroup() as group:
        for number in range(20):
            group.create_task(one(f"many-{number}", 0))
        await asyncio.sleep(0)
        group.create_task(one("few", 1))
    assert order.index("few") <= 3


async def test_what_is_wider_than_the_level_runs_alone() -> None:
    made = level(3, queues=1)
    seats = await made.take("s", 1, (0,), 1)
    wide = asyncio.ensure_future(made.take("s", 10, (0,), 60))
    await asyncio.sleep(0)
    assert not wide.done()
    seats.give_back()
    (await wide).give_back()
    assert made.in_use == 0


async def test_a_level_without_seats_is_a_jail() -> None:
    made = level(0, queues=1)
    with pytest.raises(Refused):
        await made.take("s", 1, (0,), 0.01)
    waiting = asyncio.ensure_future(made.take("s", 1, (0,), 60))
    await asyncio.sleep(0)
    made.limit = 1
    made.dispatch()
    (await waiting).give_back()


async def test_fewer_queues_than_before_lose_nobody() -> None:
    made = level(1, queues=4)
    seats = await made.take("s", 1, (3,), 1)
    waiting = asyncio.ensure_future(made.take("s", 1, (3,), 60))
    await asyncio.sleep(0)
    made.queue_up(Queuing(2, 1, 5))
    assert [queue.index for queue in made.queues()] == [0, 1, 3]
    seats.give_back()
    (await waiting).give_back()
    assert [queue.index for queue in made.queues()] == [0, 1]


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(0, 3), st.booleans()), max_size=40), st.integers(1, 6))
def test_seats_are_never_given_twice_nor_lost(steps: list[tuple[int, int, bool]], limit: int) -> None:
    async def play() -> None:
        made = level(limit, queues=4)
        tasks: list[asyncio.Task[Seats]] = []
        for number, queue, gives_back in steps:
            tasks.append(asyncio.create_task(made.take("s", number, (queue,), 60)))
            await asyncio.sleep(0)
            held = [task.result().number for task in tasks if task.done()]
            assert made.in_use == sum(held)
            assert made.in_use <= limit or len([each for each in held if each]) == 1
            if gives_back:
                for task in tasks[: queue + 1]:
                    if task.done():
                        task.result().give_back()
                    else:
                        task.cancel()
                        await asyncio.gather(task, return_exceptions=True)
                        tasks.remove(task)
                await asyncio.sleep(0)
        while tasks:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in [task for task in tasks if task.done()]:
                task.result().give_back()
                tasks.remove(task)
        assert (made.in_use, made.waiting, made.executing) == (0, 0, 0)
        assert not any(queue.busy or queue.in_use or queue.work for queue in made.queues())

    asyncio.run(play())
