"""The work queue: each key once, by one worker at a time, again after a failure."""

from __future__ import annotations

import asyncio
import contextlib
import tracemalloc

from gateway.work_queue import WorkQueue, work


async def test_a_key_is_there_once_however_often_it_is_added() -> None:
    queue: WorkQueue[str] = WorkQueue("q1")
    for key in ("a", "b", "a"):
        queue.add(key)
    assert [await queue.get(), await queue.get()] == ["a", "b"]
    assert len(queue) == 0


async def test_what_is_added_while_it_is_worked_on_comes_back_afterwards() -> None:
    queue: WorkQueue[str] = WorkQueue("q2")
    queue.add("a")
    key = await queue.get()
    queue.add("a")
    assert len(queue) == 0
    queue.done(key)
    assert await queue.get() == "a"


async def test_the_earlier_of_two_times_counts() -> None:
    queue: WorkQueue[str] = WorkQueue("q3")
    queue.add_after("a", 60)
    queue.add_after("a", 0.001)
    queue.add_after("a", 60)
    assert await asyncio.wait_for(queue.get(), 30) == "a"
    queue.done("a")
    assert queue.idle


async def test_what_fails_comes_back_and_is_forgotten_once_it_works() -> None:
    queue: WorkQueue[str] = WorkQueue("q4")
    attempts, worked = [], asyncio.Event()

    async def reconcile(key: str) -> None:
        attempts.append(key)
        if len(attempts) < 4:
            raise RuntimeError("not yet")
        worked.set()

    working = asyncio.create_task(work(queue, reconcile, 2))
    queue.add("a")
    await asyncio.wait_for(worked.wait(), 30)
    working.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await working
    assert attempts == ["a"] * 4
    assert (queue.adds, queue.retries) == (4, 3)
    assert sum(queue.worked.counts) == sum(queue.waited.counts) == 4


async def test_a_key_is_never_worked_on_twice_at_the_same_time() -> None:
    queue: WorkQueue[int] = WorkQueue("q5")
    under_way: set[int] = set()
    seen = 0

    async def reconcile(key: int) -> None:
        nonlocal seen
        assert key not in under_way
        under_way.add(key)
        queue.add(key) if seen < 100 else None
        seen += 1
        await asyncio.sleep(0)
        under_way.remove(key)

    working = asyncio.create_task(work(queue, reconcile, 8))
    for key in range(4):
        queue.add(key)
    async with asyncio.timeout(30):
        while seen < 104 or not queue.idle:
            await asyncio.sleep(0)
    working.cancel()
    assert queue.retries == 0


async def test_a_worker_outlives_a_call_that_somebody_else_has_cancelled() -> None:
    """A CancelledError ended it without notice: once it had happened to each worker, no key was worked on any more."""
    queue: WorkQueue[str] = WorkQueue("q6")
    worked = asyncio.Event()
    attempts = 0

    async def reconcile(key: str) -> None:
        nonlocal attempts
        attempts += 1
        if attempts < 4:
            answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            answer.cancel()
            await answer
        worked.set()

    working = asyncio.create_task(work(queue, reconcile, 2))
    queue.add("a")
    await asyncio.wait_for(worked.wait(), 30)
    assert queue.retries == 3
    working.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await working


async def test_workers_end_though_their_work_loses_its_cancellation() -> None:
    """As asyncio.wait_for does at times: the worker waited for its next key for ever, and a leader did not end."""
    queue: WorkQueue[str] = WorkQueue("q7")
    begun = asyncio.Event()

    async def reconcile(key: str) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise RuntimeError("it was lost") from None

    working = asyncio.create_task(work(queue, reconcile, 2))
    queue.add("a")
    await asyncio.wait_for(begun.wait(), 30)
    working.cancel()
    done, _ = await asyncio.wait((working,), timeout=30)
    assert done


async def test_a_worker_without_a_key_takes_little_memory() -> None:
    """Each control plane in memory has some twenty. With an Event and three closures it was 4 KB."""

    async def reconcile(key: str) -> None: ...

    def begun() -> asyncio.Task[None]:
        return asyncio.create_task(work(WorkQueue[str]("small"), reconcile, 1))

    workers = [begun()]
    tracemalloc.start()
    try:
        workers += [begun() for _ in range(100)]
        await asyncio.sleep(0)
        assert tracemalloc.get_traced_memory()[0] / 100 < 3_000
    finally:
        tracemalloc.stop()
        for each in workers:
            each.cancel()
        await asyncio.wait(workers)
