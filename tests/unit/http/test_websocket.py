"""WebSocket frames, split into chunks in any way."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wsproto.frame_protocol import FrameProtocol, Opcode

from gateway.http.exchange import Request, Response
from gateway.http.websocket import BINARY, CLOSE, PING, PONG, TEXT, Incoming, frame, is_wanted, switched

ASKED = {
    b"connection": b"keep-alive, Upgrade",
    b"upgrade": b"WebSocket",
    b"sec-websocket-key": b"dGhlIHNhbXBsZSBub25jZQ==",
    b"sec-websocket-version": b"13",
    b"origin": b"https://example.org",
}


def masked(opcode: int, payload: bytes, mask: bytes = b"\1\2\3\4") -> bytes:
    head = frame(opcode, payload)[: -len(payload) or None]
    return bytes((head[0], head[1] | 128)) + head[2:] + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(payload))


@given(
    st.lists(st.tuples(st.sampled_from([TEXT, BINARY, PING, PONG]), st.binary(max_size=300)), max_size=6),
    st.lists(st.integers(0, 2000), max_size=6),
)
def test_pings_are_answered_and_the_rest_is_passed_over(sent: list[tuple[int, bytes]], cuts: list[int]) -> None:
    sent = [(opcode, payload[:125] if opcode >= CLOSE else payload) for opcode, payload in sent]
    data = b"".join(masked(opcode, payload) for opcode, payload in sent) + masked(CLOSE, struct.pack(">H", 1001) + b"x")
    incoming, answers = Incoming(), []
    places = [0, *sorted({min(cut, len(data)) for cut in cuts}), len(data)]
    for start, end in pairwise(places):
        answers += [each for each in incoming.take(data[start:end]) if each]
    pongs = [frame(PONG, payload) for opcode, payload in sent if opcode == PING]
    assert incoming.ended and b"".join(answers).endswith(
        (pongs[-1] if pongs else b"") + frame(CLOSE, struct.pack(">H", 1001))
    )
    later = iter(pongs)
    assert all(each in later for each in answers[:-1]), "each answer is that of a later ping"


def test_of_pings_that_come_together_the_last_is_answered() -> None:
    data = b"".join(masked(PING, b"%d" % number) for number in range(100))
    assert list(Incoming().take(data)) == [frame(PONG, b"99")]


def test_few_frames_are_looked_at_in_a_turn() -> None:
    answers = list(Incoming().take(masked(PING, b"") * 10_000 + masked(PING, b"last")))
    assert 10 <= len(answers) < 30 and answers[-1] == frame(PONG, b"last")


@pytest.mark.parametrize("data", [frame(PING, b"not masked"), masked(PING, b"x" * 126)])
def test_what_is_no_frame_of_a_client_ends_the_connection(data: bytes) -> None:
    incoming = Incoming()
    assert not any(incoming.take(data)) and incoming.ended


@given(st.binary(max_size=70_000))
def test_frames_are_such_as_others_read(payload: bytes) -> None:
    reader = FrameProtocol(client=True, extensions=[])
    reader.receive_bytes(frame(BINARY, payload))
    found = list(reader.received_frames())
    assert b"".join(bytes(each.payload) for each in found) == payload
    assert found[0].opcode is Opcode.BINARY and found[-1].message_finished


@pytest.mark.parametrize(
    ("headers", "wanted"),
    [
        (ASKED, True),
        ({**ASKED, b"upgrade": b"h2c"}, False),
        ({**ASKED, b"connection": b"keep-alive"}, False),
        ({**ASKED, b"connection": b"upgraded"}, False),
    ],
)
def test_who_wants_one(headers: dict[bytes, bytes], wanted: bool) -> None:
    assert is_wanted(headers) is wanted


async def events(*chunks: bytes) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


class Reader:
    """A client's end that says nothing."""

    def __init__(self) -> None:
        self.said: list[bytes] = []

    async def read(self) -> bytes:
        await asyncio.get_running_loop().create_future()
        return b""

    def write(self, data: bytes) -> None:
        self.said.append(data)

    async def drain(self) -> None: ...


async def answer(content_type: bytes, *chunks: bytes, **headers: bytes) -> tuple[Response, list[bytes]]:
    given = {**ASKED, **{name.replace("_", "-").encode(): value for name, value in headers.items()}}
    request = Request("GET", "/", b"", given, None)  # type: ignore[arg-type]  # nothing is received
    response = switched(request, Response(200, events(*chunks), content_type))
    client = Reader()
    if response.tunnel is not None:
        await response.tunnel.run(client)
    return response, client.said


async def test_each_event_is_a_message() -> None:
    response, said = await answer(b"application/json", b'{"a":1}\n{"b":', b"2}\n")
    assert dict(response.headers)[b"sec-websocket-accept"] == b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo="  # of the RFC
    ended = frame(CLOSE, struct.pack(">H", 1000))
    assert b"".join(said) == frame(TEXT, b'{"a":1}\n') + frame(TEXT, b'{"b":2}\n') + ended
    prefixed = b"\0\0\0\3abc\0\0\0\1d"
    _, said = await answer(b"application/vnd.kubernetes.protobuf;stream=watch", prefixed[:5], prefixed[5:])
    assert b"".join(said) == frame(BINARY, b"abc") + frame(BINARY, b"d") + ended


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"sec_websocket_version": b"8"}, 400),
        ({"sec_websocket_key": b""}, 400),
        ({"sec_websocket_protocol": b"a, b"}, 400),
        ({"sec_websocket_protocol": b"a"}, 101),
    ],
)
async def test_what_the_handshake_has_to_have(headers: dict[str, bytes], status: int) -> None:
    response, _ = await answer(b"application/json", **headers)
    assert response.status == status
