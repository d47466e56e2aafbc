"""An etcd client while etcd dies, comes back or hangs, and with a healthy second endpoint."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from grpc import StatusCode
from grpc.aio import AioRpcError, Metadata

from storage.embedded import EmbeddedEtcd
from storage.errors import DeadlineExceeded, Unanswered, Unavailable
from storage.etcd import EtcdClient, EtcdSettings, KeyValue, SwapResult
from storage.etcd import watch as watch_module
from tests.integration.crash import crash, lost
from tests.limits import within
from tests.ports import free_ports


@pytest.fixture
async def dead_first(etcd_endpoint: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[EtcdClient]:
    monkeypatch.setattr(watch_module, "ANSWER", 60.0)  # the other endpoint may be slow
    dead = f"http://127.0.0.1:{free_ports(1)[0]}"
    async with EtcdClient(EtcdSettings((dead, etcd_endpoint), timeout=120)) as client:
        yield client


async def test_a_dead_endpoint_is_left_for_the_next_one(dead_first: EtcdClient, prefix: bytes) -> None:
    created = await dead_first.create(prefix, b"v")
    assert created.succeeded
    async with dead_first.watch(prefix, start_revision=created.revision) as watch:
        assert (await anext(watch)).events


async def test_without_etcd_a_call_fails_at_its_deadline(prefix: bytes) -> None:
    async with EtcdClient(EtcdSettings((f"http://127.0.0.1:{free_ports(1)[0]}",), timeout=60)) as client:
        with within(3):
            with pytest.raises(Unavailable):
                await client.put(prefix, b"", timeout=0.5)
            with pytest.raises(Unavailable):
                await client.revision(timeout=0.5)


async def test_calls_wait_for_a_restart_and_acknowledged_writes_survive(
    own_etcd: EmbeddedEtcd, own_client: EtcdClient
) -> None:
    written = (await own_client.put(b"k", b"v")).revision
    crash(own_etcd)
    await lost(own_client)
    calls = [asyncio.ensure_future(call) for call in (own_client.get(b"k"), own_client.create(b"other", b"v"))]
    await asyncio.to_thread(own_etcd.start)
    with within(3):
        found, created = await asyncio.gather(*calls)
    assert isinstance(found, KeyValue) and found.mod_revision == written
    assert isinstance(created, SwapResult) and created.succeeded


class _Lossy:
    """The transactions of an endpoint whose first call fails like one whose connection ends before the answer."""

    def __init__(self, client: EtcdClient, monkeypatch: pytest.MonkeyPatch) -> None:
        kv = client._endpoints.current.kv
        self.sent, self._usual = 0, kv.Txn
        monkeypatch.setattr(kv, "Txn", self)

    async def __call__(self, request: Any, **options: Any) -> Any:
        self.sent += 1
        if self.sent == 1:
            raise AioRpcError(StatusCode.UNAVAILABLE, Metadata(), Metadata(), details="Socket closed")
        return await self._usual(request, **options)


async def test_an_update_is_sent_again_because_it_is_made_at_most_once(
    own_client: EtcdClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = (await own_client.put(b"k", b"v")).revision
    lossy = _Lossy(own_client, monkeypatch)
    assert (await own_client.update(b"k", b"w", before, timeout=60)).succeeded
    assert lossy.sent == 2
    found = await own_client.get(b"k")
    assert found is not None and (found.value, found.version) == (b"w", 2)


async def test_a_create_is_not_sent_again_because_it_could_be_made_twice(
    own_client: EtcdClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be made, deleted, and then be made again."""
    lossy = _Lossy(own_client, monkeypatch)
    with pytest.raises(Unanswered):
        await own_client.create(b"l", b"w", timeout=60)
    assert lossy.sent == 1


async def test_an_update_that_lost_to_another_one_during_an_outage_is_told_so(
    own_client: EtcdClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = (await own_client.put(b"k", b"v")).revision
    await own_client.put(b"k", b"other")
    lossy = _Lossy(own_client, monkeypatch)
    lost = await own_client.update(b"k", b"w", before, timeout=60)
    assert lossy.sent == 2 and not lost.succeeded
    assert lost.current is not None and lost.current.value == b"other"


async def test_a_write_that_was_not_sent_was_certainly_not_made(
    own_etcd: EmbeddedEtcd, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_etcd.pause()
    dead = f"http://127.0.0.1:{free_ports(1)[0]}"
    async with EtcdClient(EtcdSettings((own_etcd.endpoint, dead), timeout=0.5)) as client:
        with pytest.raises(Unavailable) as raised:
            await client.create(b"k", b"v", timeout=0.5)
    assert not isinstance(raised.value, Unanswered)


async def test_a_broken_watch_raises_and_the_next_goes_on(own_etcd: EmbeddedEtcd, own_client: EtcdClient) -> None:
    watch = own_client.watch(b"k")
    await watch.start()
    waiting = asyncio.ensure_future(anext(watch))
    written = (await own_client.put(b"k", b"v")).revision
    assert (await waiting).revision == written
    waiting = asyncio.ensure_future(anext(watch))
    await asyncio.sleep(0)
    crash(own_etcd)
    with pytest.raises(Unavailable):
        async with asyncio.timeout(60):
            await waiting
    await asyncio.to_thread(own_etcd.start)
    again = (await own_client.put(b"k", b"w")).revision
    async with asyncio.timeout(60), own_client.watch(b"k", start_revision=written + 1) as resumed:
        assert (await anext(resumed)).revision == again


async def test_a_hanging_etcd_holds_nobody_over_the_deadline(own_etcd: EmbeddedEtcd) -> None:
    async with EtcdClient(EtcdSettings((own_etcd.endpoint,), timeout=0.5)) as client:
        revision = await client.revision(timeout=60)
        own_etcd.pause()
        with within(4):
            for asked in (client.get(b"k"), client.watch(b"k").start()):
                with pytest.raises(DeadlineExceeded):
                    await asked
            for written in (client.put(b"k", b""), client.leases.grant(5)):
                with pytest.raises(Unanswered):
                    await written
        own_etcd.resume()
        assert await client.revision(timeout=60) >= revision


async def test_reads_leave_a_hanging_endpoint_within_the_deadline(
    own_etcd: EmbeddedEtcd, etcd_endpoint: str, prefix: bytes
) -> None:
    async with EtcdClient(EtcdSettings((own_etcd.endpoint, etcd_endpoint), timeout=8)) as client:
        await client.revision(timeout=60)
        own_etcd.pause()
        assert await client.get(prefix) is None
        assert (await client.create(prefix, b"v")).succeeded
        own_etcd.resume()


async def test_a_watch_outlives_a_pause(own_etcd: EmbeddedEtcd, own_client: EtcdClient) -> None:
    async with own_client.watch(b"k") as watch:
        own_etcd.pause()
        writing = asyncio.ensure_future(own_client.put(b"k", b"v"))
        own_etcd.resume()
        async with asyncio.timeout(60):
            assert (await anext(watch)).revision == (await writing).revision


async def test_closing_the_client_ends_calls_under_way(own_etcd: EmbeddedEtcd) -> None:
    client = EtcdClient(EtcdSettings((own_etcd.endpoint,), timeout=60))
    await client.revision()
    own_etcd.pause()
    waiting = asyncio.ensure_future(client.get(b"k"))
    await asyncio.sleep(0.05)
    await client.close()
    with pytest.raises(Unavailable):
        await waiting
