"""Own writes are applied when etcd acknowledges them: in order, once, and never past a gap."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage import feed as feed_module
from storage.etcd import DELETE, PUT, EtcdClient, KeyEvent, KeyValue, WatchBatch
from storage.feed import Feed
from storage.watch_cache import WatchCache
from tests.unit.storage.canonical import PREFIX, ROOT, SPEC, canonical


def event(revision: int, name: str = "a", change: int = PUT) -> KeyEvent:
    value = canonical(name, labels={"at": str(revision)}) if change == PUT else b""
    return KeyEvent(change, KeyValue(PREFIX + b"n/" + name.encode(), value, revision, 0, 0), None)


class Stream:
    """A watch whose messages the test gives; it ends when it is cancelled."""

    def __init__(self) -> None:
        self.messages: asyncio.Queue[WatchBatch] = asyncio.Queue()

    def tell(self, *events: KeyEvent) -> None:
        self.messages.put_nowait(WatchBatch(events[-1].kv.mod_revision, list(events), False))

    is_elsewhere = False

    async def start(self) -> int:
        return 1

    async def progress_correct(self) -> bool:
        return True

    async def __aiter__(self) -> AsyncIterator[WatchBatch]:
        while True:
            yield await self.messages.get()

    async def cancel(self) -> None:
        pass


class Client:
    """An etcd whose registry is empty at revision 1."""

    members = 1

    def __init__(self) -> None:
        self.streams: list[tuple[int, Stream]] = []
        self._opened = asyncio.Condition()
        self._opening: list[asyncio.Task[None]] = []

    def watch(self, key: bytes, end: bytes, *, start_revision: int, own_stream: bool) -> Stream:
        self.streams.append((start_revision, Stream()))
        self._opening.append(asyncio.ensure_future(self._tell()))
        return self.streams[-1][1]

    async def _tell(self) -> None:
        async with self._opened:
            self._opened.notify_all()

    async def opened(self, streams: int) -> None:
        """Until so many streams have been opened."""
        async with asyncio.timeout(30), self._opened:
            await self._opened.wait_for(lambda: len(self.streams) >= streams)


class Node:
    def __init__(self) -> None:
        self.client, self.cache = Client(), WatchCache(ROOT)
        self.pods = self.cache.register(SPEC)
        self.feed = Feed(cast(EtcdClient, self.client), self.cache)
        self.cache.advance(1)
        self.task = asyncio.ensure_future(self.feed._follow())

    @property
    def stream(self) -> Stream:
        return self.client.streams[-1][1]

    async def stop(self) -> None:
        self.task.cancel()
        with suppress(asyncio.CancelledError):
            await self.task

    def seen(self) -> list[int]:
        history = self.pods.history
        return [change.revision for change in history.between(0, history.end)]


@pytest.fixture
async def node() -> AsyncIterator[Node]:
    node = Node()
    await node.client.opened(1)
    yield node
    await node.stop()


async def test_an_own_write_is_there_before_the_watch_tells_of_it(node: Node) -> None:
    node.feed.acknowledged(event(2))
    assert (node.cache.reached, node.seen()) == (2, [2])
    node.stream.tell(event(2))
    node.stream.tell(event(3, change=DELETE))
    await node.cache.reach(3)
    assert node.seen() == [2, 3]


async def test_a_write_of_others_comes_first_if_it_was_first(node: Node) -> None:
    node.feed.acknowledged(event(3))
    assert (node.cache.reached, node.seen()) == (1, [])
    node.stream.tell(event(2, "b"))
    await node.cache.reach(3)
    assert node.seen() == [2, 3]


async def test_all_that_one_revision_changed_is_there_at_once(node: Node) -> None:
    node.feed.acknowledged(event(3, "b"), event(3, "c"), event(3, "a", change=DELETE))
    node.feed.acknowledged(event(2))
    assert (node.cache.reached, node.seen()) == (3, [2, 3, 3, 3])
    node.stream.tell(event(2))
    node.stream.tell(event(3, "b"), event(3, "c"), event(3, "a", change=DELETE))
    node.stream.tell(event(4))
    await node.cache.reach(4)
    assert node.seen() == [2, 3, 3, 3, 4]


async def test_a_revision_of_an_own_write_elsewhere_is_passed_in_its_turn(node: Node) -> None:
    node.feed.passed(3)
    assert node.cache.reached == 1, "revision 2 may have an event"
    node.feed.acknowledged(event(2))
    assert (node.cache.reached, node.seen()) == (3, [2])
    node.feed.passed(4)
    assert (node.cache.reached, node.seen()) == (4, [2])
    node.stream.tell(event(2))
    node.stream.tell(event(5, "b"))
    await node.cache.reach(5)
    assert node.seen() == [2, 5]


async def test_nothing_is_taken_over_while_the_stream_is_away(node: Node) -> None:
    """Until the stream is back, the next revision of etcd may belong to another change."""
    await node.stop()
    node.feed.acknowledged(event(2))
    assert node.cache.reached == 1


async def test_a_stream_that_is_far_behind_what_is_missing_starts_anew(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed_module, "FAR_BEHIND", 3)
    for revision in range(2, 10):
        node.feed.acknowledged(event(revision))
    node.feed.notice(20)
    node.stream.tell(event(2))
    await node.client.opened(2)
    monkeypatch.setattr(feed_module, "RESTART_INTERVAL", 60.0)  # what follows is told to this stream
    assert [start for start, _ in node.client.streams] == [2, 10]
    node.feed.acknowledged(event(11))
    node.stream.tell(*(event(revision) for revision in range(10, 12)))
    await node.cache.reach(11)
    assert node.seen() == list(range(2, 12))


async def test_a_stream_that_only_repeats_is_left_to_itself_while_writes_go_on(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed_module, "GAP", 60.0)  # the last write is never long ago
    paused: asyncio.Future[float] = asyncio.get_running_loop().create_future()

    async def sleep(seconds: float) -> None:
        paused.set_result(seconds)
        await asyncio.Event().wait()

    monkeypatch.setattr(asyncio, "sleep", sleep)
    for revision in (2, 3):
        node.feed.acknowledged(event(revision))
        node.stream.tell(event(revision))
    assert await paused == feed_module.REDUNDANT_PAUSE
    assert node.stream.messages.qsize() == 1


async def test_what_an_etcd_knew_that_was_set_back_is_forgotten(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the stream would count as far behind for ever."""
    monkeypatch.setattr(feed_module, "FAR_BEHIND", 3)
    node.feed.notice(1000)
    await node.stop()
    node.task = asyncio.ensure_future(node.feed._follow())
    await node.client.opened(2)
    for revision in (2, 3):
        node.stream.tell(event(revision))
    async with asyncio.timeout(30):
        await node.cache.reach(3)
    assert [start for start, _ in node.client.streams] == [2, 2]


@given(st.data())
def test_whatever_comes_when_every_change_is_seen_once_and_in_order(data: st.DataObject) -> None:
    last = data.draw(st.integers(2, 12))
    own = data.draw(st.sets(st.integers(2, last)))
    steps: list[Any] = data.draw(st.permutations(sorted(own)))
    for _ in range(data.draw(st.integers(1, last - 1))):
        steps.insert(data.draw(st.integers(0, len(steps))), "told")
    cuts = [*sorted(data.draw(st.sets(st.integers(2, last)))), last]

    async def run() -> None:
        node, told = Node(), 1
        await node.client.opened(1)
        for step in [*steps, *["told"] * len(cuts)]:
            if step != "told":
                node.feed.acknowledged(event(step, f"p{step % 3}"))
            elif cuts and told < last:
                upto = cuts.pop(0)
                events = [event(revision, f"p{revision % 3}") for revision in range(told + 1, upto + 1)]
                if events:
                    node.feed._apply_told(events)
                told = max(told, upto)
            assert node.seen() == list(range(2, node.cache.reached + 1))
        assert node.cache.reached == last
        await node.stop()

    asyncio.run(run())
