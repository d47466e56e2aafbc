"""Unary calls that bypass grpc.aio's objects have the same results as calls through them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, cast

import grpc
import pytest
from grpc.aio import AioRpcError

from storage.etcd import EtcdSettings
from storage.etcd.endpoints import open_channel
from storage.etcd.generated import rpc_pb2, stubs
from storage.etcd.unary import TRIED, UnaryCalls, unary


def test_a_grpcio_that_was_tried_has_what_it_takes_and_no_other_is_trusted() -> None:
    async def look() -> bool:
        channel = grpc.aio.insecure_channel("127.0.0.1:1")
        try:
            return isinstance(unary(stubs.KVStub(channel).Range), UnaryCalls)
        finally:
            await channel.close()

    assert asyncio.run(look()) == grpc.__version__.startswith(TRIED)


def test_with_another_grpcio_calls_go_the_usual_way() -> None:
    method = cast(Any, SimpleNamespace(_channel=None))
    assert unary(method) is method


async def test_answers_and_errors_are_the_same(etcd_endpoint: str) -> None:
    channel = open_channel(etcd_endpoint, EtcdSettings((etcd_endpoint,)))
    usual = stubs.KVStub(channel).Range
    direct = unary(usual)
    present = rpc_pb2.RangeRequest(key=b"\0", range_end=b"\0", limit=1)
    future = rpc_pb2.RangeRequest(key=b"k", revision=1 << 40)
    try:
        assert (await direct(present, timeout=60)).kvs == (await usual(present, timeout=60)).kvs
        said = []
        for each in (usual, direct):
            with pytest.raises(AioRpcError) as caught:
                await each(future, timeout=60)
            said.append((caught.value.code(), caught.value.details()))
        assert said[0] == said[1]
        with pytest.raises(AioRpcError) as late:
            await direct(present, timeout=-1)
        assert late.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    finally:
        await channel.close()


@asynccontextmanager
async def unanswered() -> AsyncIterator[grpc.aio.Channel]:
    """A channel to a port without a server: calls stay pending for as long as a test needs."""
    listener = await asyncio.start_server(lambda _reader, _writer: asyncio.sleep(120), "127.0.0.1", 0)
    channel = grpc.aio.insecure_channel(f"127.0.0.1:{listener.sockets[0].getsockname()[1]}")
    try:
        yield channel
    finally:
        listener.close()
        await channel.close()


async def test_nothing_is_left_of_a_call_that_is_cancelled_or_broken_off() -> None:
    """No server listens at this port, and the calls wait: they do not fail while the channel connects."""
    async with unanswered() as channel:
        calls = cast(Any, unary(stubs.KVStub(channel).Range))
        await _ends(calls)


async def _ends(calls: Any) -> None:
    if not isinstance(calls, UnaryCalls):  # the usual ones are grpcio's own concern
        return

    async def ask() -> None:
        await calls(rpc_pb2.RangeRequest(key=b"k"), timeout=120)

    first, second = asyncio.create_task(ask()), asyncio.create_task(ask())
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.wait((first,), timeout=60)
    assert first.cancelled() and not second.done()
    calls.cancel()
    await asyncio.wait((second,), timeout=60)
    assert second.cancelled()


async def _order(callers: int, gather: bool) -> list[str]:
    """The calls that `callers` make in one iteration of the loop while another call is pending: work and send, each."""
    done: list[str] = []
    begun = asyncio.Event()
    async with unanswered() as channel, asyncio.timeout(60):
        calls = cast(Any, unary(stubs.KVStub(channel).Txn, gather=gather))
        encode = calls._encode

        def sent(request: rpc_pb2.TxnRequest) -> bytes:
            done.append("send")
            begun.set()
            return cast(bytes, encode(request))

        calls._encode = sent

        async def write() -> None:
            done.append("work")
            await calls(rpc_pb2.TxnRequest(), timeout=120)

        writes = [asyncio.create_task(write())]
        await begun.wait()
        writes += [asyncio.create_task(write()) for _ in range(callers)]
        while done.count("send") < len(writes):
            await asyncio.sleep(0)
        calls.cancel()
        await asyncio.wait(writes)
    return done


async def test_what_comes_in_one_iteration_while_others_are_under_way_is_sent_together() -> None:
    """etcd gets many calls at a time then, and answers many at a time. A single call is sent immediately."""
    if not grpc.__version__.startswith(TRIED):
        return
    assert await _order(3, gather=True) == ["work", "send"] + ["work"] * 3 + ["send"] * 3
    assert await _order(2, gather=False) == ["work", "send"] * 3


async def test_a_call_that_was_to_be_sent_when_the_channel_was_closed_is_broken_off() -> None:
    async with unanswered() as channel:
        await _breaks_off(cast(Any, unary(stubs.KVStub(channel).Txn, gather=True)))


async def _breaks_off(calls: Any) -> None:
    if not isinstance(calls, UnaryCalls):
        return
    begun, encode = asyncio.Event(), calls._encode

    def sent(request: rpc_pb2.TxnRequest) -> bytes:
        begun.set()
        return cast(bytes, encode(request))

    calls._encode = sent
    first, second = (calls(rpc_pb2.TxnRequest(), timeout=120) for _ in range(2))
    under_way = asyncio.create_task(first)
    await begun.wait()
    second.send(None)
    calls.cancel()
    with pytest.raises(asyncio.CancelledError):
        second.send(None)
    await asyncio.wait((under_way,))
    assert under_way.cancelled()
