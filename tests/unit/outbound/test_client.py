"""Calls of servers that answer correctly, wrongly, late, too much, or not at all."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from gateway.outbound import client
from gateway.outbound.client import Client, Reply
from gateway.outbound.connection import OutboundConnection
from gateway.outbound.errors import CallError
from gateway.outbound.request import OutboundRequest
from gateway.outbound.target import Target
from tests.unit.outbound.servers import Answering, Peer, saying, serving

GET = OutboundRequest("GET", "/")
POST = OutboundRequest("POST", "/", body=b"{}")
REPEATABLE = OutboundRequest("POST", "/", repeatable=True)
OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"transfer-encoding: chunked\r\n"


def asked(answering: Answering, request: OutboundRequest = GET, largest: int = 1 << 20, timeout: float = 60) -> Reply:
    """What one call answers."""

    async def run() -> Reply:
        client = Client()
        async with serving(answering) as target:
            try:
                return await client.call(target, request, timeout, largest)
            finally:
                client.close()

    return asyncio.run(run())


def test_connections_are_kept_for_the_next_call() -> None:
    numbers = list[int]()

    async def answering(peer: Peer) -> None:
        while True:
            numbers.append(peer.number)
            await peer.answer()

    async def run() -> None:
        client = Client()
        async with serving(answering) as target:
            for _ in range(3):
                assert (await client.call(target, POST, 60)).body == b"yes"
            await asyncio.gather(*(client.call(target, GET, 60) for _ in range(2)))
        client.close()

    asyncio.run(run())
    assert set(numbers) == {1, 2}


@pytest.mark.parametrize(("request_", "again"), [(GET, True), (POST, False), (REPEATABLE, True)])
def test_what_may_be_repeated_is_asked_again_on_another_connection(request_: OutboundRequest, again: bool) -> None:
    async def answering(peer: Peer) -> None:
        await peer.answer()
        if peer.number == 1:
            await peer.request()  # and no answer: it ends

    async def run() -> int:
        client = Client()
        async with serving(answering) as target:
            await client.call(target, GET, 60)
            try:
                return (await client.call(target, request_, 60)).status
            except CallError as error:
                assert error.reset and str(error) == "EOF"
                return 0
            finally:
                client.close()

    assert asyncio.run(run()) == (200 if again else 0)


def test_a_kept_connection_that_was_closed_is_not_used() -> None:
    async def answering(peer: Peer) -> None:
        await peer.answer()

    async def run() -> None:
        client = Client()
        async with serving(answering) as target:
            for _ in range(3):
                assert (await client.call(target, POST, 60)).status == 200
                async with asyncio.timeout(60):
                    while not all(each.lost for kept in client._idle.values() for each in kept):
                        await asyncio.sleep(0.001)  # the end of the connection has nobody who waits for it
        client.close()

    asyncio.run(run())


def test_kept_connections_of_all_targets_are_bounded() -> None:
    """Who may proxy to a pod has its ports to choose from: descriptors are left for others."""

    async def answering(peer: Peer) -> None:
        while True:
            await peer.answer()

    async def run() -> None:
        client = Client(altogether=2)
        async with AsyncExitStack() as stack:
            targets = [await stack.enter_async_context(serving(answering)) for _ in range(5)]
            for target in [*targets, *targets]:
                await client.call(target, GET, 60)
            kept = [each for waiting in client._idle.values() for each in waiting]
            assert list(client._idle) == targets[3:]
            assert len(kept) == 2 and not any(each.lost for each in kept)
            client.close()

    asyncio.run(run())


def test_kept_connections_are_closed_after_their_time_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    idle = 0.1
    monkeypatch.setattr("gateway.outbound.client._IDLE", idle)
    released, ended = dict[int, float](), dict[int, float]()
    both = asyncio.Event()

    async def answering(peer: Peer) -> None:
        loop = asyncio.get_running_loop()
        try:
            await peer.request()
            await asyncio.sleep(idle / 2 * peer.number)  # so that one is kept later than the other
            released[peer.number] = loop.time()
            await peer.say(OK + b"content-length: 0\r\n\r\n")
            await peer.reader.read()
        finally:
            ended[peer.number] = loop.time()
            if len(ended) == 2:
                both.set()

    async def run() -> None:
        client = Client()
        async with serving(answering) as target:
            await asyncio.gather(*(client.call(target, GET, 60) for _ in range(2)))
            await asyncio.wait_for(both.wait(), 30)

    asyncio.run(run())
    assert all(ended[number] - released[number] >= idle * 0.9 for number in (1, 2))


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (b"", "EOF"),
        (b"HTTP/1.1 200", "unexpected EOF"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc", "unexpected EOF"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n", "unexpected EOF"),
        (b"SSH-2.0-dropbear\r\n", "malformed HTTP response"),
        (
            CHUNKED + b"content-length: 3\r\n\r\n0\r\n\r\n",
            "malformed HTTP response",
        ),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\nabcd", "malformed HTTP response"),
        (b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 2000 + b"\r\n", "too many headers"),
        (b"HTTP/1.1 200 OK\r\na: " + b"b" * (2 << 20), "headers exceeded"),
        (b"HTTP/1.1 103 Early\r\n\r\n" * 10, "too many 1xx"),
        (b"HTTP/1.1 101 Switching Protocols\r\n\r\n", "malformed HTTP response"),
        (b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 2000, "larger than 1000 bytes"),
    ],
)
def test_bad_answers(said: bytes, message: str) -> None:
    with pytest.raises(CallError, match=message):
        asked(saying(said), largest=1000)


@pytest.mark.parametrize(
    ("said", "body"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\nto the end", b"to the end"),
        (b"HTTP/1.0 200 OK\r\n\r\nold", b"old"),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok", b"ok"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
        (
            CHUNKED + b"\r\n1\r\na\r\n2\r\nbc\r\n0\r\nx-trailer: 1\r\n\r\n",
            b"abc",
        ),
    ],
)
def test_ways_to_end_a_body(said: bytes, body: bytes) -> None:
    assert asked(saying(said)).body == body


def test_nothing_is_left_of_a_connection_that_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its parser has it: a circle would stay, since the collector does not look at what was in use once."""
    made: list[weakref.ref[OutboundConnection]] = []

    class Watched(OutboundConnection):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            super().connection_made(transport)
            made.append(weakref.ref(self))
            self.over = over

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            self.over.set()

    over = asyncio.Event()
    monkeypatch.setattr(client, "OutboundConnection", Watched)

    async def run() -> None:
        async with serving(lambda peer: peer.answer(head=b"connection: close\r\n")) as target:
            assert (await Client().call(target, GET, 60)).body == b"yes"
            await over.wait()
        assert [each() for each in made] == [None]

    gc.disable()
    try:
        asyncio.run(run())
    finally:
        gc.enable()


def test_the_answer_to_head_has_no_body_and_keeps_the_connection() -> None:
    async def answering(peer: Peer) -> None:
        while True:
            assert peer.number == 1
            await peer.request()
            await peer.say(b"HTTP/1.1 200 OK\r\ncontent-length: 12\r\n\r\n")

    async def run() -> None:
        client = Client()
        async with serving(answering) as target:
            for _ in range(2):
                answer = await client.call(target, OutboundRequest("HEAD", "/"), 60)
                assert answer.header("content-length") == "12" and not answer.body
        client.close()

    asyncio.run(run())


def test_a_call_that_takes_too_long_ends_and_so_does_its_connection() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def answering(peer: Peer) -> None:
        await peer.request()
        begun.set()
        assert not await peer.reader.read()
        ended.set()

    async def run() -> None:
        patience = 0.025
        async with serving(answering) as target:
            while not begun.is_set():
                patience *= 2  # on a busy machine it may be over before the server has been asked
                with pytest.raises(CallError, match="context deadline exceeded") as raised:
                    await Client().call(target, GET, patience)
                assert raised.value.late
            await asyncio.wait_for(ended.wait(), 30)

    asyncio.run(run())


def test_a_cancelled_call_ends_its_connection() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def answering(peer: Peer) -> None:
        await peer.request()
        begun.set()
        assert not await peer.reader.read()
        ended.set()

    async def run() -> None:
        async with serving(answering) as target:
            call = asyncio.create_task(Client().call(target, GET, 60))
            await begun.wait()
            call.cancel()
            await asyncio.wait_for(ended.wait(), 30)

    asyncio.run(run())


@pytest.mark.parametrize(
    "request_",
    [
        OutboundRequest("GET", "/ HTTP/1.1\r\nx: y"),
        OutboundRequest("GET", "/a b"),
        OutboundRequest("GET", "/", ((b"x", b"y\r\nz: a"),)),
        OutboundRequest("GET", "/", ((b"x y", b"z"),)),
        OutboundRequest("G T", "/"),
    ],
)
def test_what_would_be_two_requests_is_not_sent(request_: OutboundRequest) -> None:
    with pytest.raises(CallError):
        request_.head(Target("localhost", 1))


def test_bodies_are_sent_and_read_as_they_come() -> None:
    async def answering(peer: Peer) -> None:
        head = await peer.request()
        assert b"transfer-encoding: chunked" in head
        await peer.say(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
        while (line := await peer.reader.readline()) != b"0\r\n":
            part = await peer.reader.readexactly(int(line, 16) + 2)
            await peer.say(line + part)
        await peer.say(b"0\r\n\r\n")

    async def run() -> None:
        told = asyncio.Queue[bytes]()

        async def body() -> AsyncIterator[bytes]:
            while part := await told.get():
                yield part

        async with serving(answering) as target:
            client = Client()
            answer = await client.stream(target, OutboundRequest("POST", "/", body=body()), 60)
            for part in (b"one", b"two"):
                told.put_nowait(part)
                assert await anext(answer) == part
            told.put_nowait(b"")
            assert [each async for each in answer] == []
            client.close()

    asyncio.run(run())


def test_a_body_that_nobody_reads_waits_at_its_server() -> None:
    sent = 0

    async def answering(peer: Peer) -> None:
        nonlocal sent
        await peer.request()
        await peer.say(b"HTTP/1.1 200 OK\r\n\r\n")
        for _ in range(1000):
            await peer.say(b"x" * 65536)
            sent += 65536

    async def run() -> None:
        async with serving(answering) as target:
            answer = await Client().stream(target, GET, 60)
            before = -1
            while sent != before:
                before = sent
                await asyncio.sleep(0.2)
            assert sent < 20 << 20
            size = 0
            async for part in answer:
                assert len(part) < 2 << 20
                size += len(part)
            assert size == 1000 * 65536

    asyncio.run(run())


def test_an_upgraded_connection_carries_bytes_both_ways() -> None:
    async def answering(peer: Peer) -> None:
        await peer.request()
        await peer.say(b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: Upgrade\r\n\r\nfirst")
        while data := await peer.reader.read(100):
            await peer.say(data.upper())

    async def run() -> None:
        headers = ((b"connection", b"Upgrade"), (b"upgrade", b"x"))
        async with serving(answering) as target:
            tunnel = await Client().stream(target, OutboundRequest("GET", "/", headers), 60)
            assert tunnel.status == 101 and await anext(tunnel) == b"first"
            tunnel.write(b"HTTP/1.1 200 OK\r\n\r\n")
            assert await anext(tunnel) == b"HTTP/1.1 200 OK\r\n\r\n"
            await tunnel.aclose()

    asyncio.run(run())
