"""A line speaks HTTP/2 as gRPC has it, and tells what becomes of each call."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Coroutine
from typing import Any

import grpc
import pytest
from grpc.aio import AioRpcError, Metadata
from hpack import Decoder, Encoder

from storage.etcd.errors import is_certainly_not_executed
from storage.etcd.line import Line, frame, literal

DATA, HEADERS, RESET, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
METADATA = Metadata(("hasleader", "true"))
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


class Wire(asyncio.Transport):
    """What a line writes, frame by frame, and the member that it writes to."""

    def __init__(self) -> None:
        super().__init__()
        self.written = bytearray()
        self.closed = False
        self.line = Line("etcd:2379", secure=False)
        self.line.connection_made(self)
        self.line._flush()
        assert self.written.startswith(PREFACE)
        del self.written[: len(PREFACE)]
        self.taken()
        self.says(frame(SETTINGS, 0, 0) + frame(SETTINGS, 1, 0))
        self.taken()

    def write(self, data: Any) -> None:
        self.written += data

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    abort = close

    def taken(self) -> list[tuple[int, int, int, bytes]]:
        """Takes the frames written since the last time: kind, flags, stream, payload."""
        self.line._flush()
        frames = []
        while self.written:
            upper, lower, kind, flags, stream = struct.unpack_from(">HBBBI", self.written)
            size = (upper << 8) + lower
            frames.append((kind, flags, stream, bytes(self.written[9 : 9 + size])))
            del self.written[: 9 + size]
        return frames

    def says(self, data: bytes) -> None:
        self.line.data_received(data)

    async def begin(self, message: bytes = b"?", timeout: float = 5.0) -> asyncio.Task[bytes]:
        call = asyncio.create_task(self.line.call("/etcd/Do", message, timeout, METADATA))
        await asyncio.sleep(0)
        return call


def headers(stream: int, *fields: tuple[str, str], end: bool = False) -> bytes:
    encoder = Encoder()
    encoder.header_table_size = 0
    return frame(HEADERS, 0x4 | end, stream, encoder.encode(fields))


def answer(stream: int, message: bytes, status: str = "0", words: str = "") -> bytes:
    trailers = [("grpc-status", status), ("grpc-message", words)]
    return (
        headers(stream, (":status", "200"), ("content-type", "application/grpc"))
        + frame(DATA, 0, stream, struct.pack(">BI", 0, len(message)) + message)
        + headers(stream, *trailers, end=True)
    )


async def failed(call: Coroutine[Any, Any, bytes] | asyncio.Task[bytes]) -> AioRpcError:
    with pytest.raises(AioRpcError) as error:
        await call
    return error.value


async def test_a_call_is_sent_as_grpc_says() -> None:
    wire = Wire()
    call = await wire.begin(b"x" * 40_000)
    (kind, flags, stream, block), *data = wire.taken()
    assert (kind, flags, stream) == (HEADERS, 0x4, 1)
    assert dict(Decoder().decode(block)) == {
        ":method": "POST",
        ":scheme": "http",
        ":authority": "etcd:2379",
        ":path": "/etcd/Do",
        "te": "trailers",
        "content-type": "application/grpc",
        "user-agent": "apiserver-gateway",
        "hasleader": "true",
        "grpc-timeout": "5000m",
    }
    assert [(kind, flags, stream) for kind, flags, stream, _ in data] == [(DATA, 0, 1), (DATA, 0, 1), (DATA, 1, 1)]
    assert max(len(payload) for *_, payload in data) <= 16_384
    assert b"".join(payload for *_, payload in data) == b"\0" + (40_000).to_bytes(4, "big") + b"x" * 40_000
    wire.says(answer(1, b"!"))
    assert await call == b"!"
    assert not wire.taken()


async def test_answers_find_their_calls_however_they_are_cut() -> None:
    wire = Wire()
    first, second = await wire.begin(), await wire.begin()
    for byte in answer(3, b"two" * 10) + answer(1, b""):
        wire.says(bytes((byte,)))
    assert (await first, await second) == (b"", b"two" * 10)


@pytest.mark.parametrize(
    ("said", "code", "details"),
    [
        (
            headers(1, (":status", "200"), ("grpc-status", "14"), ("grpc-message", "no%20leader"), end=True),
            14,
            "no leader",
        ),
        (answer(1, b"ignored", "8", "too large"), 8, "too large"),
        (headers(1, (":status", "502"), end=True), 14, "HTTP status 502"),
        (headers(1, (":status", "200"), end=True), 2, ""),
        (frame(RESET, 0, 1, (2).to_bytes(4, "big")), 14, "reset: 2"),
    ],
)
async def test_what_went_wrong_is_told(said: bytes, code: int, details: str) -> None:
    wire = Wire()
    call = await wire.begin()
    wire.says(said)
    error = await failed(call)
    assert (error.code().value[0], error.details()) == (code, details)
    assert not is_certainly_not_executed(error)


@pytest.mark.parametrize(
    "message", [b"", b"\1\0\0\0\0", b"\0\0\0\0\2x", b"\0\0\0\0\0\0\0\0\0\0"], ids=["none", "compressed", "cut", "two"]
)
async def test_an_answer_that_is_no_single_message_is_an_error(message: bytes) -> None:
    wire = Wire()
    call = await wire.begin()
    wire.says(headers(1, (":status", "200")) + frame(DATA, 0, 1, message))
    wire.says(headers(1, ("grpc-status", "0"), end=True))
    assert (await failed(call)).code() is grpc.StatusCode.INTERNAL


async def test_what_was_refused_was_not_carried_out() -> None:
    wire = Wire()
    calls = [await wire.begin() for _ in range(3)]
    wire.says(frame(RESET, 0, 1, (7).to_bytes(4, "big")))
    wire.says(frame(GOAWAY, 0, 0, (3).to_bytes(4, "big") + bytes(4)))
    assert is_certainly_not_executed(await failed(calls[0]))
    assert is_certainly_not_executed(await failed(calls[2]))
    assert not wire.line.takes(1) and not wire.closed
    wire.says(answer(3, b"done"))
    assert await calls[1] == b"done"
    assert wire.closed


async def test_a_lost_connection_ends_its_calls_and_leaves_open_what_became_of_them() -> None:
    wire = Wire()
    call = await wire.begin()
    wire.line.connection_lost(ConnectionResetError("reset"))
    error = await failed(call)
    assert error.code() is grpc.StatusCode.UNAVAILABLE and not is_certainly_not_executed(error)
    assert not wire.line.takes(1)


async def test_who_waits_no_more_takes_the_call_back() -> None:
    wire = Wire()
    call = await wire.begin()
    wire.taken()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert wire.taken() == [(RESET, 0, 1, (8).to_bytes(4, "big"))]
    wire.says(answer(1, b"late"))
    other = await wire.begin()
    wire.says(answer(3, b"!"))
    assert await other == b"!"


async def test_a_call_ends_at_its_deadline_and_a_line_where_nothing_is_heard_takes_no_more() -> None:
    wire = Wire()
    call = await wire.begin(timeout=0.01)
    assert (await failed(call)).code() is grpc.StatusCode.DEADLINE_EXCEEDED
    assert wire.taken()[-1][:3] == (RESET, 0, 1)
    assert not wire.line.takes(1) and wire.closed


async def test_a_line_where_others_are_answered_goes_on_after_a_deadline() -> None:
    wire = Wire()
    call = await wire.begin(timeout=0.05)
    await asyncio.sleep(0)
    wire.says(frame(PING, 0, 0, b"12345678"))
    assert wire.taken()[-1] == (PING, 1, 0, b"12345678")
    await failed(call)
    assert wire.line.takes(1)


async def test_only_what_the_member_has_room_for_is_taken() -> None:
    wire = Wire()
    assert wire.line.takes(65_530) and not wire.line.takes(65_531)
    await wire.begin(b"x" * 995)
    assert wire.line.takes(64_530) and not wire.line.takes(64_531)
    wire.says(frame(WINDOW_UPDATE, 0, 0, (1000).to_bytes(4, "big")))
    assert wire.line.takes(65_530)
    wire.says(frame(SETTINGS, 0, 0, struct.pack(">HIHI", 4, 100, 3, 2)))
    assert wire.line.takes(95) and not wire.line.takes(96)
    await wire.begin()
    assert not wire.line.takes(1), "two calls at most"
    wire.says(answer(1, b""))
    assert wire.line.takes(1)


@pytest.mark.parametrize(
    "said",
    [
        frame(HEADERS, 0, 1, b"\x88"),
        frame(HEADERS, 0xC, 1, b"\0\x88"),
        frame(DATA, 0x8, 1, b"\0"),
        frame(HEADERS, 0x4, 1, b"\xff\xff\xff\xff\xff\xff"),
        b"\xff\xff\xff\0\0\0\0\0\1",
    ],
    ids=["continued", "padded", "padded data", "no headers", "too large"],
)
async def test_what_is_not_known_ends_the_line(said: bytes) -> None:
    wire = Wire()
    await wire.begin()
    wire.says(said)
    assert wire.closed


async def test_a_line_is_ready_once_the_member_has_taken_its_settings() -> None:
    line = Line("etcd", secure=True)
    line.data_received(b"")
    assert not line.ready.done()
    line.connection_lost(None)
    with pytest.raises(ConnectionError):
        await line.ready


@pytest.mark.parametrize("size", [0, 1, 126, 127, 128, 254, 255, 1000, 100_000])
def test_headers_of_any_length_are_understood(size: int) -> None:
    assert Decoder(max_header_list_size=1 << 20).decode(literal(b"token", b"t" * size), raw=True) == [
        (b"token", b"t" * size)
    ]
