"""Calls over our own connection have the results of gRPC's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import pytest
from grpc.aio import AioRpcError, Metadata

from storage.etcd import EtcdSettings
from storage.etcd.endpoints import open_channel, over_line
from storage.etcd.generated import rpc_pb2, stubs
from storage.etcd.http2.connection import Http2Connection
from storage.etcd.http2.line import Line

LEADER = Metadata(("hasleader", "true"))


@asynccontextmanager
async def both(endpoint: str) -> AsyncIterator[tuple[stubs.KVStub, Any, Any, Line]]:
    """gRPC's methods, and Range and Txn over a line that is connected."""
    channel, line = open_channel(endpoint, EtcdSettings((endpoint,))), Line(endpoint, (10_000, 30_000))
    usual = stubs.KVStub(channel)
    read, write = over_line(line, usual)
    try:
        await connected(line)
        yield usual, read, write, line
    finally:
        line.close()
        await channel.close()


async def connected(line: Line) -> None:
    """Returns when the line takes calls."""
    async with asyncio.timeout(60):
        while (found := line.connection()) is None or not found.takes(1):
            await asyncio.sleep(0)


def created(key: bytes, value: bytes, lease: int = 0) -> rpc_pb2.TxnRequest:
    request = rpc_pb2.TxnRequest()
    request.compare.add(result=rpc_pb2.Compare.EQUAL, target=rpc_pb2.Compare.MOD, key=key, mod_revision=0)
    put = request.success.add().request_put
    put.key, put.value, put.lease = key, value, lease
    request.failure.add().request_range.key = key
    return request


async def test_answers_are_the_same(etcd_endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    taken, call = list[int](), Http2Connection.call
    monkeypatch.setattr(Http2Connection, "call", lambda self, *given: taken.append(1) or call(self, *given))
    async with both(etcd_endpoint) as (usual, read, write, _):
        for number, size in enumerate((0, 1, 100, 16_000, 17_000, 60_000, 200_000)):
            key = b"line/%d" % number
            assert (await write(created(key, bytes(size)), timeout=60, metadata=LEADER)).succeeded
            again, other = created(key, b"other"), created(key, b"other")
            mine, theirs = await write(again, timeout=60), await usual.Txn(other, timeout=60)
            assert mine == theirs and not mine.succeeded
            asked = rpc_pb2.RangeRequest(key=key)
            assert await read(asked, timeout=60) == await usual.Range(asked, timeout=60)
        counted = rpc_pb2.RangeRequest(key=b"\0", range_end=b"\0", count_only=True)
        assert await read(counted, timeout=60) == await usual.Range(counted, timeout=60)
        whole = rpc_pb2.RangeRequest(key=b"line/", range_end=b"line0")
        assert await read(whole, timeout=60) == await usual.Range(whole, timeout=60)
    # not those that are larger than etcd's window, nor the range
    assert len(taken) == 6 + 7 + 7 + 1


async def test_errors_are_the_same(etcd_endpoint: str) -> None:
    async with both(etcd_endpoint) as (usual, read, write, _):
        cases: list[tuple[Any, Any, Any]] = [
            (write, usual.Txn, created(b"leased", b"", lease=12345)),
            (write, usual.Txn, rpc_pb2.TxnRequest(success=[*created(b"twice", b"").success] * 2)),
            (write, usual.Txn, created(b"", b"")),
            (read, usual.Range, rpc_pb2.RangeRequest(key=b"k", revision=1 << 40)),
        ]
        for mine, theirs, request in cases:
            said = []
            for each in (mine, theirs):
                with pytest.raises(AioRpcError) as caught:
                    await each(request, timeout=60, metadata=LEADER)
                said.append((caught.value.code(), caught.value.details()))
            assert said[0] == said[1]
        with pytest.raises(AioRpcError) as late:
            await write(created(b"late", b""), timeout=-1)
        assert late.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED


async def test_many_calls_at_a_time_get_their_own_answers(etcd_endpoint: str) -> None:
    async with both(etcd_endpoint) as (_, read, write, _line):
        await asyncio.gather(*(write(created(b"many/%d" % n, b"%d" % n * 700), timeout=60) for n in range(200)))
        found = await asyncio.gather(*(read(rpc_pb2.RangeRequest(key=b"many/%d" % n), timeout=60) for n in range(200)))
        assert [each.kvs[0].value for each in found] == [b"%d" % n * 700 for n in range(200)]


async def test_a_line_that_is_lost_is_made_anew_and_calls_go_on(etcd_endpoint: str) -> None:
    async with both(etcd_endpoint) as (_, read, _write, line):
        first = line.connection()
        assert first is not None
        first.close()
        asked = rpc_pb2.RangeRequest(key=b"\0", count_only=True)
        assert (await read(asked, timeout=60)).header.revision
        await connected(line)
        assert (await read(asked, timeout=60)).header.revision
