"""Channels of a WebSocket become SPDY streams to the kubelet, and the result of a command is a Status."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from gateway.http.exchange import Request
from gateway.http.user import User
from gateway.http.websocket import BINARY, CLOSE, PING, PONG, frame
from gateway.http.websocket_messages import Messages
from gateway.outbound.client import Client as Outbound
from gateway.proxies import channels, spdy
from gateway.proxies.channels import Channels
from gateway.proxies.kubelets import Kubelet
from gateway.proxies.outcomes import outcome_of
from tests.unit.http.test_websocket import masked
from tests.unit.outbound.servers import Answering, Peer, serving
from tests.unit.proxies.kubelet import Client, Streams, upgrading

ALL = {"stdin": True, "stdout": True, "stderr": True}
EXITED = {
    "status": "Failure",
    "reason": "NonZeroExitCode",
    "details": {"causes": [{"reason": "ExitCode", "message": "3"}]},
}


def messages(data: bytes) -> list[tuple[int, bytes]]:
    """Channels and data of a server's frames; the farewell is channel -1."""
    found = []
    while data:
        opcode, size, start = data[0] & 15, data[1], 2
        if size == 126:
            size, start = int.from_bytes(data[2:4]), 4
        payload, data = data[start : start + size], data[start + size :]
        if opcode != PONG:
            found.append((-1, payload) if opcode == CLOSE else (payload[0], payload[1:]))
    return found


def asked() -> Request:
    """A request of somebody, whose session is passed on."""
    request = Request("GET", "/", b"", {}, None)  # type: ignore[arg-type]  # nothing is received
    request.user = User("ada")
    return request


def session(answering: Answering, options: dict[str, Any], *said: bytes) -> list[tuple[int, bytes]]:
    """What a client gets that says something and then listens until the farewell."""

    async def run() -> bytes:
        client = Client()
        for each in said:
            client.queue.put_nowait(each)
        async with serving(answering) as target:
            carried = Channels(asked(), Outbound(), Kubelet("127.0.0.1", target.port, target), "/exec/n/p/c", options)
            running = asyncio.create_task(carried.run(client))
            while frame(CLOSE, b"\x03\xe8") not in client.got:
                client.more.clear()
                await asyncio.wait_for(client.more.wait(), 30)
            client.queue.put_nowait(b"")
            await asyncio.wait_for(running, 30)
            await carried.aclose()
        return client.got

    return messages(asyncio.run(run()))


def test_streams_are_carried_both_ways() -> None:
    async def carry(streams: Streams) -> None:
        await streams.until(lambda: "stdin" in streams.ended)
        assert set(streams.numbers) == {"error", "stdin", "stdout", "stderr"}
        assert streams.taken["stdin"] == b"hello" * 20_000
        await streams.say("stdout", b"out", last=True)
        await streams.say("stderr", b"err", last=True)
        await streams.say("error", json.dumps(EXITED).encode(), last=True)
        await streams.take()

    half = masked(BINARY, b"\0" + b"hello" * 10_000)
    sent = [half, half, masked(BINARY, b"\xff\0")]
    got = session(upgrading(carry), ALL, sent[0][:7], sent[0][7:] + masked(PING, b""), *sent[1:])
    assert got[0] == (1, b"") and (1, b"out") in got and (2, b"err") in got
    outcome = json.loads(got[-2][1])
    assert got[-2][0] == 3 and outcome["details"]["causes"] == [{"reason": "ExitCode", "message": "3"}]
    assert got[-1] == (-1, b"\x03\xe8")


def test_a_terminal_has_sizes_and_no_standard_error() -> None:
    async def carry(streams: Streams) -> None:
        await streams.until(lambda: streams.taken.get("resize") == b'{"Width":80}')
        assert set(streams.numbers) == {"error", "stdin", "stdout", "resize"}
        await streams.say("stdout", b"", last=True)
        await streams.say("error", b"", last=True)
        await streams.take()

    got = session(upgrading(carry), {**ALL, "tty": True}, masked(BINARY, b'\4{"Width":80}'))
    assert json.loads(got[-2][1]) == {"metadata": {}, "status": "Success"}


def test_a_kubelet_that_refuses_or_breaks_off_is_told_of() -> None:
    async def refuse(peer: Peer) -> None:
        await peer.request()
        await peer.say(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 7\r\n\r\nnot you")

    async def leave(streams: Streams) -> None:
        await streams.until(lambda: "stdout" in streams.numbers)

    for answering, message in ((refuse, "unable to upgrade connection: not you"), (upgrading(leave), "unexpected EOF")):
        got = session(answering, {"stdout": True})
        assert json.loads(got[-2][1])["message"] == f"Internal error occurred: {message}"


def test_a_stream_that_the_kubelet_does_not_take_ends_the_session() -> None:
    """moby/spdystream waits for the reply to each stream that it opens. A peer that echoes its frames gets resets."""

    async def refuse(streams: Streams) -> None:
        await streams.until(lambda: "error" in streams.numbers)
        number = streams.numbers["error"]
        await streams.reset(number)
        await streams.take()

    async def echo(peer: Peer) -> None:
        await peer.request()
        await peer.say(b"HTTP/1.1 101 Switching Protocols\r\nupgrade: SPDY/3.1\r\nconnection: Upgrade\r\n\r\n")
        while data := await peer.reader.read(65536):
            await peer.say(data)

    for answering in (upgrading(refuse), echo):
        got = session(answering, {"stdout": True})
        assert json.loads(got[-2][1])["message"] == "Internal error occurred: Stream reset"


def test_a_kubelet_that_closes_before_it_answers_is_told_of() -> None:
    async def close(peer: Peer) -> None:
        await peer.request()

    got = session(close, {"stdout": True})
    assert json.loads(got[-2][1])["message"].endswith(": unexpected EOF")


@pytest.mark.parametrize("said", [b"", masked(CLOSE, b"\x03\xe8"), frame(BINARY, b"\0not masked")])
def test_a_client_that_goes_ends_the_session(said: bytes) -> None:
    ended = asyncio.Event()

    async def carry(streams: Streams) -> None:
        while await streams.take():
            pass
        ended.set()

    async def run() -> None:
        client = Client()
        client.queue.put_nowait(said)
        async with serving(upgrading(carry)) as target:
            carried = Channels(asked(), Outbound(), Kubelet("127.0.0.1", target.port, target), "/exec/n/p/c", ALL)
            await asyncio.wait_for(carried.run(client), 30)
            await carried.aclose()
            await asyncio.wait_for(ended.wait(), 30)

    asyncio.run(run())


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"status": "Failure", "message": "no such file"}, "Internal error occurred: no such file"),
        ({"status": "Failure", "reason": "NonZeroExitCode"}, "no ExitCode cause given"),
        ({"status": "What"}, "unknown error"),
        *(
            ({"status": "Failure", "reason": "NonZeroExitCode", "details": details}, "no ExitCode cause given")
            for details in ("x", [1], {"causes": "x"}, {"causes": {"a": 1}}, {"causes": ["x", None, 1]})
        ),
    ],
)
def test_outcomes(said: dict[str, Any], message: str) -> None:
    assert message in json.loads(outcome_of(json.dumps(said).encode()))["message"]


def test_many_small_frames_are_looked_at_in_turns() -> None:
    """The last of the pings that came together is answered (RFC 6455, 5.5.3)."""
    incoming = Messages()
    found = list(incoming.feed(masked(BINARY, b"x") * 1200 + masked(PING, b"y") * 3))
    assert incoming.more and 0 < len(found) < 1000
    while incoming.more:
        found += incoming.feed(b"")
    assert len(found) == 1200 and incoming.answers.count(b"y") == 1


def test_many_frames_of_a_kubelet_are_looked_at_in_turns() -> None:
    """A kubelet may flood a session with pings or empty data: few frames are looked at in each turn of the loop."""
    kubelets = spdy.Session()
    ping = spdy.Frame(spdy.PING, 0, b"\0\0\0\2", False)
    for flood in (kubelets.pong(ping), kubelets.data(1, b"")):
        session, turns, found = spdy.Session(), 1, []
        found += session.feed(flood * 2000)
        while session.more:
            turns += 1
            found += session.feed(b"")
        assert len(found) == 2000 and turns > 5


def test_others_have_their_turn_between_the_pieces_of_a_flood(monkeypatch: pytest.MonkeyPatch) -> None:
    turns = [0]

    async def turn() -> None:
        turns[0] += 1
        await asyncio.sleep(0)

    async def flood(streams: Streams) -> None:
        await streams.until(lambda: {"error", "stdout"} <= set(streams.numbers))
        await streams.say("stdout", b"", times=5000)
        await streams.say("stdout", b"", last=True)
        await streams.say("error", b"", last=True)
        await streams.take()

    monkeypatch.setattr(channels, "next_turn", turn)
    assert json.loads(session(upgrading(flood), {"stdout": True})[-2][1])["status"] == "Success"
    assert turns[0] > 5


def test_a_ping_has_four_bytes() -> None:
    kubelets = spdy.Session()
    with pytest.raises(spdy.Broken, match="ping"):
        list(spdy.Session().feed(kubelets.pong(spdy.Frame(spdy.PING, 0, bytes(1000), False))))
