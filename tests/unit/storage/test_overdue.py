"""A write whose answer will not come soon is not waited for; every other write is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
from grpc.aio import AioRpcError

from storage.errors import DeadlineExceeded
from storage.etcd import overdue
from storage.etcd.overdue import LEADER_LOST, SILENT, Overdue

ONE: Any = "one"
OTHER: Any = "other"
LONG = 60.0  # seconds
TURNS = 10  # looks


class Cluster:
    """Two members, of which each tells a raft term, or 0 for no answer."""

    def __init__(self, terms: Mapping[Any, int]) -> None:
        self.terms = dict(terms)
        self.asked = 0
        self.left: list[Any] = []
        self.overdue = Overdue((ONE, OTHER), self._term_at, self.left.append)
        self.overdue.tell(7)

    async def _term_at(self, endpoint: Any, key: bytes, timeout: float) -> int:
        assert key == b"key"
        self.asked += 1
        term: int = self.terms[endpoint]
        if not term:
            raise DeadlineExceeded("no answer")
        return term

    async def many_looks(self) -> None:
        async with asyncio.timeout(LONG):
            while self.asked < TURNS:
                await asyncio.sleep(0)


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overdue, "OVERDUE", 0.0)
    monkeypatch.setattr(overdue, "LOOK", 0.0)
    monkeypatch.setattr(overdue, "FRESH", LONG)


@asynccontextmanager
async def waiting(cluster: Cluster, *, once: bool) -> AsyncIterator[tuple[asyncio.Task[bytes], asyncio.Future[bytes]]]:
    """A write that waits for its answer."""
    answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(cluster.overdue.answered(answer, ONE, b"key", once))
    try:
        yield task, answer
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await cluster.overdue.close()


@pytest.mark.parametrize("once", [True, False])
async def test_a_write_to_a_lost_leader_is_given_up(once: bool) -> None:
    cluster = Cluster({ONE: 8, OTHER: 8})
    async with waiting(cluster, once=once) as (task, _), asyncio.timeout(LONG):
        with pytest.raises(AioRpcError, match=LEADER_LOST):
            await task
    assert not cluster.left


async def test_a_write_that_may_be_sent_again_leaves_a_silent_member() -> None:
    cluster = Cluster({ONE: 0, OTHER: 7})
    async with waiting(cluster, once=True) as (task, _), asyncio.timeout(LONG):
        with pytest.raises(AioRpcError, match=SILENT):
            await task
    assert ONE in cluster.left


async def test_another_write_waits_longer_for_a_silent_member(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster({ONE: 0, OTHER: 7})
    async with waiting(cluster, once=False) as (task, _), asyncio.timeout(LONG):
        await cluster.many_looks()
        assert not task.done()
        monkeypatch.setattr(overdue, "ABANDONED", 0.0)
        with pytest.raises(AioRpcError, match=SILENT):
            await task


@pytest.mark.parametrize("terms", [{ONE: 7, OTHER: 7}, {ONE: 0, OTHER: 0}], ids=["slow", "no quorum"])
@pytest.mark.parametrize("once", [True, False])
async def test_a_write_that_is_only_slow_is_waited_for(terms: Mapping[Any, int], once: bool) -> None:
    cluster = Cluster(terms)
    async with waiting(cluster, once=once) as (task, answer):
        await cluster.many_looks()
        assert not task.done() and not cluster.left
        answer.set_result(b"made")
        assert await task == b"made"


@pytest.mark.parametrize("once", [True, False])
async def test_a_term_that_was_told_long_ago_proves_nothing(once: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster({ONE: 8, OTHER: 8})
    monkeypatch.setattr(overdue, "FRESH", -1.0)
    async with waiting(cluster, once=once) as (task, answer):
        await cluster.many_looks()
        answer.set_result(b"made")
        assert await task == b"made"


@pytest.mark.parametrize("term", [8, 3], ids=["another leader", "a restored cluster"])
async def test_a_leader_that_is_lost_during_the_wait_is_noticed(term: int, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster({ONE: term, OTHER: term})
    monkeypatch.setattr(overdue, "FRESH", -1.0)
    async with waiting(cluster, once=True) as (task, _), asyncio.timeout(LONG):
        await cluster.many_looks()
        assert not task.done()
        cluster.terms[ONE] += 1
        with pytest.raises(AioRpcError, match=LEADER_LOST):
            await task


async def test_an_idle_client_asks_for_the_term_with_its_first_write(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster({ONE: 8, OTHER: 8})
    monkeypatch.setattr(overdue, "OVERDUE", LONG)
    monkeypatch.setattr(overdue, "FRESH", -1.0)
    async with waiting(cluster, once=True) as (_, answer):
        async with asyncio.timeout(LONG):
            while not cluster.asked:
                await asyncio.sleep(0)
        answer.set_result(b"made")


async def test_a_caller_that_is_cancelled_stays_cancelled() -> None:
    cluster = Cluster({ONE: 7, OTHER: 7})
    async with waiting(cluster, once=True) as (task, answer):
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert answer.cancelled()


async def test_nothing_runs_while_no_write_waits() -> None:
    cluster = Cluster({ONE: 7, OTHER: 7})
    async with waiting(cluster, once=True) as (task, answer):
        await cluster.many_looks()
        answer.set_result(b"made")
        await task
    seen = cluster.asked
    for _ in range(TURNS):
        await asyncio.sleep(0)
    assert cluster.asked == seen
