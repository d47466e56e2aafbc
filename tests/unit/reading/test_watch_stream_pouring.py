"""Events of an up-to-date watch are written at once, or by its task: each once, in order, and none is lost."""

from __future__ import annotations

import asyncio
import gzip
import time
from collections.abc import AsyncIterator
from math import inf
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.endpoints.metrics import WatchMeasures
from gateway.http.alarms import Alarms
from gateway.reading.list_options import ListOptions
from gateway.reading.view import WatchView
from gateway.reading.watch_body import WatchBody
from gateway.reading.watch_states import Resting
from gateway.reading.watch_stream import WatchStream
from storage.cache import ResourceCache
from tests.unit.storage.canonical import PREFIX, canonical, key, pods


class Client:
    """A client that reads the events of a stream, from its task and, while it is `ready`, directly. With `rests` the
    stream may rest.
    """

    def __init__(
        self,
        cache: ResourceCache,
        rests: bool = False,
        options: ListOptions = ListOptions(),  # noqa: B008
        packs: bool = False,
    ) -> None:
        self.rests, self.rested, self.ready, self.got, self.poured, self.cache = rests, 0, True, bytearray(), 0, cache
        store = SimpleNamespace(cache=SimpleNamespace(reached=0))
        settings = SimpleNamespace(min_request_timeout=1800)
        services = SimpleNamespace(
            stopping=asyncio.Event(), draining=asyncio.Event(), ends_at=inf, settings=settings, alarms=Alarms()
        )
        self.endpoint = SimpleNamespace(
            cache=cache,
            store=store,
            services=services,
            retired=False,
            ended=False,
            versions=SimpleNamespace(converts=False),
            watch_measures=WatchMeasures("", "v1", "pods"),
        )
        encoder = SimpleNamespace(opening=lambda chunk: b"first:" + chunk, bookmark=lambda reached: b"mark;")
        view = WatchView(cache, PREFIX, None, lambda type_, entry: b"%d;" % entry.revision)
        stream = WatchStream(
            cast(Any, self.endpoint), cast(Any, encoder), view, options, position=cache.history.end, packs=packs
        )
        self.body = WatchBody(stream, cache.history.end)
        self._reads, self._more = asyncio.Event(), asyncio.Event()
        self.wake()

    async def _read(self) -> None:
        self._reads.set()
        async for chunk in self.body:
            self._take(chunk)
        await self.body.aclose()
        self.rested += self.body.resting

    def may_rest(self) -> bool:
        return self.rests and self.ready

    def wake(self) -> None:
        self.task = asyncio.create_task(self._read())
        self.task.add_done_callback(lambda _: self._more.set())

    def pour(self, data: bytes) -> bool:
        if self.ready:
            self._take(data)
            self.poured += 1
        return self.ready

    def _take(self, data: bytes) -> None:
        self.got += data
        self._more.set()

    async def is_over(self) -> None:
        """Waits until its stream has ended; the stream's task may start only now."""
        while not self.body.stream.over:
            self._more.clear()
            await self._more.wait()
        await self.task

    async def reads(self) -> None:
        """Waits until its task waits for the first change."""
        await self._reads.wait()

    async def has(self, revisions: int) -> None:
        """Waits until it has seen the changes up to a revision."""
        while self.seen().count(";") < revisions:
            self._more.clear()
            await self._more.wait()
            if self.task.done() and not self.body.resting:
                await self.task  # raises what ended it
                break

    def seen(self) -> str:
        """The received bytes as text."""
        return (gzip.decompress(self.got) if self.body.stream.packs else self.got).decode()


def expected(revisions: int) -> str:
    return "first:" + "".join(f"{revision};" for revision in range(1, revisions + 1)) if revisions else ""


@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=12), st.booleans(), st.booleans())
def test_whether_or_not_a_sink_takes_them_all_come_once_and_in_order(
    steps: list[tuple[bool, bool]], rests: bool, packs: bool
) -> None:
    """For each change: whether the client is ready, and whether the test waits for it before the next change."""

    async def run() -> None:
        cache = pods()
        client = Client(cache, rests, packs=packs)
        client.body.pour_into(client)
        await client.reads()
        for revision, (client.ready, pause) in enumerate(steps, 1):
            cache.put(key("n", "a"), canonical("a"), revision)
            cache.wake()
            if pause:
                await client.has(revision)
        await client.has(len(steps))
        assert client.seen() == expected(len(steps))
        assert client.poured or not any(ready and pause for ready, pause in steps)
        client.task.cancel()

    asyncio.run(run())


async def test_without_a_sink_the_task_gives_them() -> None:
    client = Client(pods())
    await client.reads()
    for revision in (1, 2):
        client.cache.put(key("n", "a"), canonical("a"), revision)
        client.cache.wake()
        await client.has(revision)
    assert (client.seen(), client.poured) == (expected(2), 0)
    client.task.cancel()


@pytest.mark.parametrize("rests", [False, True])
async def test_a_stream_ends_with_the_server_and_when_its_past_is_gone(rests: bool) -> None:
    ended, overrun = Client(pods(), rests), Client(pods(), rests)
    for client in (ended, overrun):
        client.body.pour_into(client)
    for client in (ended, overrun):
        await client.reads()
        if rests:
            await client.task
    ended.endpoint.services.stopping.set()
    overrun.cache.start_over()
    for client in (ended, overrun):
        client.cache.wake_all()
        await client.is_over()
    assert (ended.rested, overrun.rested) == (int(rests), int(rests))
    assert not ended.got and not overrun.got
    assert not ended.cache._waiters._any.followers and not overrun.cache._waiters._any.followers


def due(stream: WatchStream, what: str) -> None:
    """Calls a resting stream's timer at the time that it was set to, however busy the machine is."""
    resting = cast(Resting, stream.state)
    stream.endpoint.services.alarms.unset(resting._alarm, resting)
    setattr(stream, what, time.monotonic())
    resting._set_alarm()


async def test_a_stream_that_rests_has_no_task_and_gets_changes_bookmarks_and_its_end() -> None:
    client = Client(pods(), True, ListOptions(allow_bookmarks=True, timeout_seconds=3600))
    client.body.pour_into(client)
    await client.reads()
    await client.task
    assert client.body.resting
    client.cache.put(key("n", "a"), canonical("a"), 1)
    client.cache.wake()
    await client.has(1)
    assert client.task.done() and client.poured == 1
    due(client.body.stream, "next_bookmark")
    await client.has(2)
    assert client.task.done() and (client.seen(), client.poured) == ("first:1;mark;", 2)
    due(client.body.stream, "deadline")
    await client.is_over()
    assert client.rested == 1 and not client.cache._waiters._any.followers and client.body.stream.sink is None


async def test_a_slow_client_has_its_stream_rise_and_rest_again() -> None:
    client = Client(pods(), True)
    client.body.pour_into(client)
    await client.reads()
    await client.task
    client.ready = False
    client.cache.put(key("n", "a"), canonical("a"), 1)
    client.cache.wake()
    await client.has(1)
    assert not client.body.resting and not client.task.done()
    client.ready = True
    client.cache.put(key("n", "a"), canonical("a"), 2)
    client.cache.wake()
    await client.has(2)
    client.task.cancel()


@pytest.mark.parametrize("rests", [False, True])
async def test_a_stream_that_waits_or_rests_works_once_it_is_steered(rests: bool) -> None:
    async def steering(chunk: bytes) -> AsyncIterator[bytes]:
        yield chunk or b"steered;"

    client = Client(pods(), rests)
    client.body.pour_into(client)
    await client.reads()
    if rests:
        await client.task
    assert client.body.resting is rests
    client.body.stream.steer(steering)
    await client.has(1)
    assert not client.body.resting and (client.seen(), client.poured) == ("first:steered;", 0)
    client.cache.put(key("n", "a"), canonical("a"), 1)
    client.cache.wake()
    await client.has(2)
    assert (client.seen(), client.poured) == ("first:steered;1;", 0)
    client.task.cancel()
