"""A consistent read is at least as new as etcd was when it arrived."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from storage import consistency
from storage.consistency import ConsistentReads
from storage.errors import StorageError, Unavailable
from storage.watch_cache import WatchCache


class Etcd:
    """Probes that answer when the test says so; `revision` is what a probe finds when it begins."""

    def __init__(self) -> None:
        self.revision = 10
        self.probes: list[asyncio.Future[None]] = []
        self.most_at_once = 0
        self.progress_asked = 0
        self.progress: Callable[[], bool] = lambda: False

    async def probe(self) -> int:
        found = self.revision
        gate: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.probes.append(gate)
        self.most_at_once = max(self.most_at_once, sum(not each.done() for each in self.probes))
        await gate
        return found

    async def request_progress(self) -> bool:
        self.progress_asked += 1
        return self.progress()

    async def started(self, probes: int) -> asyncio.Future[None]:
        """The newest probe, once so many have begun."""
        async with asyncio.timeout(30):
            while len(self.probes) < probes:
                await asyncio.sleep(0)
        return self.probes[-1]


@pytest.fixture
def etcd() -> Etcd:
    return Etcd()


@pytest.fixture
def cache() -> WatchCache:
    return WatchCache(b"/registry/")


@pytest.fixture
def reads(etcd: Etcd, cache: WatchCache) -> ConsistentReads:
    return ConsistentReads(cache, etcd.probe, etcd.request_progress)


@pytest.fixture
def shared(reads: ConsistentReads, monkeypatch: pytest.MonkeyPatch) -> ConsistentReads:
    """Consistent reads that always share a probe."""
    monkeypatch.setattr(consistency, "ALONE", 0)
    return reads


def ask(reads: ConsistentReads) -> asyncio.Task[bool]:
    return asyncio.create_task(reads.fresh())


async def within(awaited: Awaitable[bool], seconds: float = 30) -> bool:
    async with asyncio.timeout(seconds):
        return await awaited


async def test_a_probe_never_serves_a_request_that_arrived_after_it_started(
    etcd: Etcd, cache: WatchCache, shared: ConsistentReads
) -> None:
    cache.advance(10)
    early = ask(shared)
    first = await etcd.started(1)
    etcd.revision = 11  # somebody's write is acknowledged; only then does the next request arrive
    late = ask(shared)
    first.set_result(None)
    assert await within(early)
    second = await etcd.started(2)
    assert not late.done()
    second.set_result(None)
    cache.advance(11)
    assert await within(late)


async def test_requests_that_arrive_together_share_a_probe(
    etcd: Etcd, cache: WatchCache, shared: ConsistentReads
) -> None:
    cache.advance(10)
    together = [ask(shared) for _ in range(50)]
    (await etcd.started(1)).set_result(None)
    assert all(await within(asyncio.gather(*together)))
    assert len(etcd.probes) == 1


async def test_so_many_probes_are_under_way_and_no_more(etcd: Etcd, cache: WatchCache, shared: ConsistentReads) -> None:
    """Who comes while one is under way need not wait for its end; who comes after the last waits for any."""
    cache.advance(10)
    waiting = []
    for number in range(consistency.PROBES):
        waiting.append(ask(shared))
        await etcd.started(number + 1)
    late = [ask(shared) for _ in range(3)]
    etcd.probes[-1].set_result(None)
    assert await within(waiting[-1])
    (await etcd.started(consistency.PROBES + 1)).set_result(None)
    assert all([await within(each) for each in late])
    assert not waiting[0].done()
    assert etcd.most_at_once == consistency.PROBES


async def test_a_read_waits_for_the_events_that_it_must_have_seen(
    etcd: Etcd, cache: WatchCache, shared: ConsistentReads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consistency, "EVENTS_WAIT", 60.0)
    waiting = ask(shared)
    (await etcd.started(1)).set_result(None)
    for _ in range(10):
        await asyncio.sleep(0)
    assert not waiting.done()
    cache.advance(10)
    assert await within(waiting)
    assert etcd.progress_asked == 0


async def test_progress_is_asked_for_when_no_event_comes(
    etcd: Etcd, cache: WatchCache, shared: ConsistentReads, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Something outside of the prefix has moved the revision. etcd may drop the question once."""
    monkeypatch.setattr(consistency, "EVENTS_WAIT", 0.01)
    monkeypatch.setattr(consistency, "PROGRESS_AGAIN", 0.01)
    monkeypatch.setattr(consistency, "PROGRESS_WAIT", 60.0)

    def progress() -> bool:
        if etcd.progress_asked == 3:
            cache.advance(10)
        return True

    etcd.progress = progress
    waiting = ask(shared)
    (await etcd.started(1)).set_result(None)
    assert await within(waiting)
    assert etcd.progress_asked == 3


@pytest.mark.parametrize("answers", [True, False])
async def test_when_the_feed_cannot_get_there_etcd_is_to_be_read(
    etcd: Etcd, shared: ConsistentReads, monkeypatch: pytest.MonkeyPatch, answers: bool
) -> None:
    monkeypatch.setattr(consistency, "EVENTS_WAIT", 0.01)
    monkeypatch.setattr(consistency, "PROGRESS_WAIT", 0.05)
    etcd.progress = lambda: answers
    waiting = ask(shared)
    (await etcd.started(1)).set_result(None)
    assert not await within(waiting)


async def test_waiting_in_vain_is_not_repeated_until_something_happens(
    etcd: Etcd, cache: WatchCache, shared: ConsistentReads, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others write to an etcd whose progress can't be relied on: each read would take as long as one waits."""
    waits = []
    monkeypatch.setattr(consistency, "STUCK", 60.0)

    async def wait_for(revision: int, seconds: float) -> bool:
        waits.append(seconds)
        return cache.reached >= revision

    monkeypatch.setattr(shared, "wait_for", wait_for)
    etcd.progress = lambda: False
    for revision in (10, 11):
        assert not await shared.catch_up(revision)
    assert waits == [consistency.EVENTS_WAIT]
    assert not await within(shared.fresh())
    assert etcd.probes == []
    cache.advance(11)
    assert not await shared.catch_up(12)
    assert len(waits) == 2

    def progress() -> bool:
        cache.advance(12)
        return True

    etcd.progress = progress
    assert await shared.catch_up(12)


async def test_a_probe_that_fails_fails_its_requests_and_no_others(
    etcd: Etcd, cache: WatchCache, shared: ConsistentReads
) -> None:
    cache.advance(10)
    early = ask(shared)
    first = await etcd.started(1)
    late = ask(shared)
    first.set_exception(Unavailable("gone"))
    with pytest.raises(Unavailable, match="gone"):
        await within(early)
    (await etcd.started(2)).set_result(None)
    assert await within(late)


async def test_nobody_hangs_when_a_probe_breaks_in_a_way_that_nobody_foresaw(
    etcd: Etcd, cache: WatchCache, shared: ConsistentReads
) -> None:
    early = ask(shared)
    first = await etcd.started(1)
    first.set_exception(RuntimeError("a defect"))
    with pytest.raises(StorageError):
        await within(early)
    cache.advance(10)
    again = ask(shared)
    (await etcd.started(2)).set_result(None)
    assert await within(again)


async def test_a_client_that_leaves_disturbs_nobody(etcd: Etcd, cache: WatchCache, shared: ConsistentReads) -> None:
    cache.advance(10)
    leaving, staying = ask(shared), ask(shared)
    probe = await etcd.started(1)
    leaving.cancel()
    probe.set_result(None)
    assert await within(staying)


async def test_who_asks_alone_has_a_probe_that_begins_and_is_answered_in_its_own_task(
    etcd: Etcd, cache: WatchCache, reads: ConsistentReads
) -> None:
    """Each turn of the loop that it waited for others would take milliseconds under load."""
    cache.advance(10)
    asked = reads.fresh()
    asked.send(None)
    assert len(etcd.probes) == 1
    etcd.probes[0].set_result(None)
    with pytest.raises(StopIteration) as ended:
        asked.send(None)
    assert ended.value.value is True


async def test_those_who_come_soon_after_one_that_asked_alone_share_a_probe(
    etcd: Etcd, cache: WatchCache, reads: ConsistentReads, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The running probe serves none of these reads, because it began before them."""
    monkeypatch.setattr(consistency, "APART", 60.0)
    monkeypatch.setattr(consistency, "EVENTS_WAIT", 60.0)
    cache.advance(10)
    alone = ask(reads)
    await etcd.started(1)
    etcd.revision = 11
    others = [ask(reads) for _ in range(50)]
    (await etcd.started(2)).set_result(None)
    etcd.probes[0].set_result(None)
    assert await within(alone)
    assert not any(each.done() for each in others)
    cache.advance(11)
    assert all(await within(asyncio.gather(*others)))
    assert len(etcd.probes) == 2


async def test_only_so_many_ask_alone(
    etcd: Etcd, cache: WatchCache, reads: ConsistentReads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consistency, "APART", 0.0)
    cache.advance(10)
    asked = [ask(reads) for _ in range(50)]
    await etcd.started(consistency.ALONE + 1)
    for probe in etcd.probes:
        probe.set_result(None)
    assert all(await within(asyncio.gather(*asked)))
    assert len(etcd.probes) == consistency.ALONE + 1


async def test_who_asked_alone_and_gave_up_leaves_room_for_others(
    etcd: Etcd, cache: WatchCache, reads: ConsistentReads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consistency, "APART", 0.0)
    for number in range(2 * consistency.ALONE):
        asked = ask(reads)
        await etcd.started(number + 1)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked


async def test_who_asks_alone_is_told_that_etcd_is_away(
    reads: ConsistentReads, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away() -> int:
        raise Unavailable("away")

    monkeypatch.setattr(reads, "_probe", away)
    with pytest.raises(Unavailable):
        await reads.fresh()


async def test_who_asks_alone_asks_nothing_while_the_feed_is_stuck(
    etcd: Etcd, cache: WatchCache, reads: ConsistentReads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consistency, "EVENTS_WAIT", 0.01)
    monkeypatch.setattr(consistency, "STUCK", 60.0)
    monkeypatch.setattr(consistency, "APART", 0.0)
    asked = ask(reads)
    (await etcd.started(1)).set_result(None)
    assert not await within(asked)
    assert not await within(reads.fresh())
    assert len(etcd.probes) == 1
