"""The Watch service on a real etcd."""

from __future__ import annotations

import asyncio
import gc
import weakref

import pytest

from storage.errors import Compacted, Unavailable
from storage.etcd import DELETE, PUT, EtcdClient, EtcdSettings, KeyEvent, Watch, prefix_end
from storage.etcd import watch as watch_module


async def next_events(watch: Watch, count: int) -> list[KeyEvent]:
    """At least that many events; more if the last batch has more."""
    events: list[KeyEvent] = []
    async with asyncio.timeout(60):
        while len(events) < count:
            events += (await anext(watch)).events
    return events


async def test_changes_come_in_order_with_what_was_before(etcd_client: EtcdClient, prefix: bytes) -> None:
    async with etcd_client.watch(prefix, prefix_end(prefix), prev_kv=True) as watch:
        await etcd_client.put(prefix + b"a", b"1")
        await etcd_client.put(prefix + b"a", b"2")
        gone = (await etcd_client.delete(prefix + b"a")).revision
        first, second, third = await next_events(watch, 3)
    assert (first.type, first.kv.value, first.prev_kv) == (PUT, b"1", None)
    assert second.prev_kv is not None and (second.type, second.prev_kv.value) == (PUT, b"1")
    assert third.prev_kv is not None and (third.type, third.prev_kv.value) == (DELETE, b"2")
    assert (third.kv.key, third.kv.value, third.kv.mod_revision) == (prefix + b"a", b"", gone)


async def test_a_watch_starts_in_the_past(etcd_client: EtcdClient, prefix: bytes) -> None:
    revisions = [(await etcd_client.put(prefix, b"%d" % i)).revision for i in range(3)]
    async with etcd_client.watch(prefix, start_revision=revisions[1]) as watch:
        assert [event.kv.mod_revision for event in await next_events(watch, 2)] == revisions[1:]


async def test_many_watches_share_a_stream(etcd_client: EtcdClient, prefix: bytes) -> None:
    watches = [etcd_client.watch(prefix + b"%d" % i) for i in range(50)]
    await asyncio.gather(*(watch.start() for watch in watches))
    assert len({id(watch._stream) for watch in watches}) == 1
    for i in range(50):
        await etcd_client.put(prefix + b"%d" % i, b"%d" % i)
    for i, watch in enumerate(watches):
        (event,) = await next_events(watch, 1)
        assert event.kv.value == b"%d" % i
        await watch.cancel()


async def test_fragments_are_put_together(etcd_client: EtcdClient, prefix: bytes) -> None:
    start = await etcd_client.revision()
    for i in range(4):
        await etcd_client.put(prefix + b"%d" % i, b"x" * 1_000_000)
    async with etcd_client.watch(prefix, prefix_end(prefix), start_revision=start + 1) as watch:
        async with asyncio.timeout(60):
            batch = await anext(watch)
    assert [event.kv.key for event in batch.events] == [prefix + b"%d" % i for i in range(4)]


async def test_progress_is_told_on_request(etcd_client: EtcdClient, prefix: bytes) -> None:
    async with etcd_client.watch(prefix, own_stream=True) as watch:
        elsewhere = (await etcd_client.put(prefix + b"other", b"")).revision
        await watch.request_progress()
        async with asyncio.timeout(60):
            batch = await anext(watch)
    assert batch.progress and not batch.events and batch.revision >= elsewhere


async def test_a_watch_from_before_compaction_says_where_history_starts(own_client: EtcdClient) -> None:
    for i in range(5):
        last = (await own_client.put(b"k", b"%d" % i)).revision
    await own_client.compact(last)
    watch = own_client.watch(b"k", start_revision=2)
    with pytest.raises(Compacted) as caught:
        async with asyncio.timeout(60):
            await anext(watch)
    assert (caught.value.compact_revision, caught.value.revision) == (last, 2)


async def test_a_cancelled_watch_ends(etcd_client: EtcdClient, prefix: bytes) -> None:
    watch = etcd_client.watch(prefix)
    await watch.start()
    waiting = asyncio.ensure_future(anext(watch))
    await asyncio.sleep(0)
    await watch.cancel()
    with pytest.raises(StopAsyncIteration):
        await waiting


async def test_cancelling_the_consumer_leaves_other_watches_alone(etcd_client: EtcdClient, prefix: bytes) -> None:
    one, other = etcd_client.watch(prefix), etcd_client.watch(prefix)
    await one.start()
    await other.start()
    waiting = asyncio.ensure_future(anext(one))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await etcd_client.put(prefix, b"v")
    assert len(await next_events(one, 1)) == len(await next_events(other, 1)) == 1


async def test_a_slow_consumer_is_interrupted_and_misses_nothing(
    etcd_client: EtcdClient, prefix: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch_module, "BUFFERED_EVENTS", 10)
    slow, quick = (etcd_client.watch(prefix, prefix_end(prefix)) for _ in range(2))
    await slow.start()
    await quick.start()
    for i in range(100):
        await etcd_client.put(prefix + b"%d" % i, b"%d" % i)
        assert len(await next_events(quick, 1)) == 1
    assert slow._stream is None
    assert [event.kv.value for event in await next_events(slow, 100)] == [b"%d" % i for i in range(100)]


async def test_closing_the_client_ends_its_watches(etcd_endpoint: str, prefix: bytes) -> None:
    client = EtcdClient(EtcdSettings((etcd_endpoint,), timeout=60))
    watch = client.watch(prefix)
    await watch.start()
    waiting = asyncio.ensure_future(anext(watch))
    await asyncio.sleep(0)
    await client.close()
    with pytest.raises(Unavailable):
        await waiting


async def test_a_stream_that_was_closed_is_gone_without_a_collection(etcd_client: EtcdClient, prefix: bytes) -> None:
    """A feed that falls behind opens streams one after another. Garbage collection skips objects that are in an older
    generation.
    """
    gc.disable()
    try:
        async with etcd_client.watch(prefix, own_stream=True) as watch:
            await etcd_client.put(prefix, b"x")
            await next_events(watch, 1)
            assert watch._stream is not None
            stream, call = weakref.ref(watch._stream), weakref.ref(watch._stream._call)
        async with etcd_client.watch(prefix, own_stream=True):  # this drops the earlier stream
            async with asyncio.timeout(60):  # grpcio ends a call in a thread
                while stream() is not None or call() is not None:
                    await asyncio.sleep(0.005)
    finally:
        gc.enable()
