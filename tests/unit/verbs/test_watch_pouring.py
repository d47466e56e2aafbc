"""Changes of a stream that is up to date are written at once, or by its task: each once, in order, and none is lost."""

from __future__ import annotations

import asyncio
from math import inf
from types import SimpleNamespace
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from gateway.endpoints.measures import WatchMeasures
from gateway.reading.list_options import ListOptions
from gateway.reading.view import View
from gateway.reading.watch_stream import WatchBody, WatchStream
from storage.cache import ResourceCache
from tests.unit.storage.canonical import PREFIX, canonical, key, pods


class Client:
    """Reads what a stream's task gives, and what is poured for it while it is `ready`."""

    def __init__(self, cache: ResourceCache) -> None:
        self.ready, self.got, self.poured, self.cache = True, bytearray(), 0, cache
        store = SimpleNamespace(cache=SimpleNamespace(reached=0))
        settings = SimpleNamespace(min_request_timeout=1800)
        services = SimpleNamespace(stopping=asyncio.Event(), draining=asyncio.Event(), ends_at=inf, settings=settings)
        self.endpoint = SimpleNamespace(
            cache=cache,
            store=store,
            services=services,
            retired=False,
            ended=False,
            versions=SimpleNamespace(converts=False),
            watch_measures=WatchMeasures("", "v1", "pods"),
        )
        encoder = SimpleNamespace(opening=lambda chunk: b"first:" + chunk)
        view = View(cache, PREFIX, None, lambda type_, entry: b"%d;" % entry.revision)
        stream = WatchStream(
            cast(Any, self.endpoint), cast(Any, encoder), view, ListOptions(), initial=False, position=cache.history.end
        )
        self.body = WatchBody(stream, cache.history.end)
        self._reads, self._more = asyncio.Event(), asyncio.Event()
        self.task = asyncio.create_task(self._read())
        self.task.add_done_callback(lambda _: self._more.set())

    async def _read(self) -> None:
        self._reads.set()
        async for chunk in self.body:
            self._take(chunk)

    def pour(self, data: bytes) -> bool:
        if self.ready:
            self._take(data)
            self.poured += 1
        return self.ready

    def _take(self, data: bytes) -> None:
        self.got += data
        self._more.set()

    async def reads(self) -> None:
        """Waits until its task waits for the first change."""
        await self._reads.wait()

    async def has(self, revisions: int) -> None:
        """Waits until it has seen the changes up to that revision."""
        while self.seen().count(";") < revisions:
            self._more.clear()
            await self._more.wait()
            if self.task.done():
                await self.task  # raises what ended it
                break

    def seen(self) -> str:
        """The events alone."""
        return self.got.decode()


def expected(revisions: int) -> str:
    return "first:" + "".join(f"{revision};" for revision in range(1, revisions + 1)) if revisions else ""


@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=12))
def test_whether_or_not_a_sink_takes_them_all_come_once_and_in_order(steps: list[tuple[bool, bool]]) -> None:
    """Of each change: whether the client is ready, and whether it is waited for before the next."""

    async def run() -> None:
        cache = pods()
        client = Client(cache)
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


async def test_a_stream_ends_with_the_server_and_when_its_past_is_gone() -> None:
    ended, overrun = Client(pods()), Client(pods())
    for client in (ended, overrun):
        client.body.pour_into(client)
        await client.reads()
    ended.endpoint.services.stopping.set()
    overrun.cache.start_over()
    for client in (ended, overrun):
        client.cache.wake_all()
    await asyncio.gather(ended.task, overrun.task)
    assert not ended.got and not overrun.got
    assert not ended.cache._waiters._any.followers and not overrun.cache._waiters._any.followers
