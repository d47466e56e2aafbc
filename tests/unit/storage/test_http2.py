"""The HTTP/2 that carries etcd's calls: frames, header blocks, and what becomes of calls when etcd misbehaves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.etcd.http2 import connection, frames, headers
from storage.etcd.http2.connection import Failed, Http2Connection
from storage.etcd.http2.frames import Frame, FrameError, Frames, frame
from storage.etcd.http2.line import Line

OPENED = frames.settings({}) + frame(frames.WINDOW_UPDATE, 0, 0, (1 << 20).to_bytes(4, "big"))
HEAD = b"\x88"  # :status 200
BAD = headers.encoded([(b"grpc-status", b"9"), (b"grpc-message", b"a%20b")])
GOOD = headers.encoded([(b"grpc-status", b"0")])

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 255), st.integers(0, 2**31 - 1), st.binary())), st.data())
def test_frames_are_found_wherever_what_is_received_is_cut(sent: list[Frame], data: st.DataObject) -> None:
    raw, found, reader = b"".join(frame(*each) for each in sent), list[Frame](), Frames()
    while raw:
        cut = data.draw(st.integers(1, len(raw)))
        found += reader.received(raw[:cut])
        raw = raw[cut:]
    assert found == sent


@given(st.integers(1, 2**31 - 1), st.binary())
def test_the_frame_of_an_only_message_is_one_of_data(stream: int, message: bytes) -> None:
    prefixed = b"\0" + len(message).to_bytes(4, "big") + message
    assert frames.only_message(stream, message) == frame(frames.DATA, frames.END_STREAM, stream, prefixed)


def test_a_frame_larger_than_allowed_is_refused_before_it_is_kept() -> None:
    with pytest.raises(FrameError):
        list(Frames().received((frames.LARGEST + 1).to_bytes(3, "big") + bytes(6)))


@given(st.dictionaries(st.text("abc-", min_size=1), st.text(st.characters(max_codepoint=255), max_size=300)))
def test_fields_survive_a_block(fields: dict[str, str]) -> None:
    raw = headers.encoded((name.encode(), value.encode("latin-1")) for name, value in fields.items())
    assert headers.decoded(raw) == fields


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("f1e3c2e5f23a6ba0ab90f4ff", "www.example.com"),
        ("a8eb10649cbf", "no-cache"),
        ("25a849e95bb8e8b4bf", "custom-value"),
        ("d07abe941054d444a8200595040b8166e082a62d1bff", "Mon, 21 Oct 2013 20:13:21 GMT"),
        ("94e7821dd7f2e6c7b335dfdfcd5b3960d5af27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007",
         "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1"),
    ],
)  # fmt: skip
def test_the_huffman_code_is_that_of_the_rfc(code: str, text: str) -> None:
    """The examples of RFC 7541, appendix C."""
    raw = bytes.fromhex(code)
    assert headers.decoded(b"\0\x01x" + bytes((0x80 | len(raw),)) + raw) == {"x": text}


@given(st.binary(max_size=60))
def test_any_bytes_are_a_block_or_refused(raw: bytes) -> None:
    with suppress(FrameError):
        headers.decoded(raw)


@pytest.mark.parametrize("raw", [b"\xbe", b"\x3f\xe1\x1f", b"\0\x05ab", b"\0", b"\x7f\xff\xff\xff\xff\xff\xff"])
def test_a_block_that_needs_a_dynamic_table_or_does_not_end_is_refused(raw: bytes) -> None:
    with pytest.raises(FrameError):
        headers.decoded(raw)


@asynccontextmanager
async def connected(serve: Serve, pings: tuple[int, int] = (60_000, 60_000)) -> AsyncIterator[Http2Connection]:
    """A connection to a server that says what `serve` says, once its settings have come."""

    async def begun(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(len(frames.PREFACE))
        writer.write(OPENED)
        with suppress(asyncio.IncompleteReadError):
            await serve(reader, writer)

    server = await asyncio.start_server(begun, "127.0.0.1", 0)
    loop = asyncio.get_running_loop()
    host, port = server.sockets[0].getsockname()
    _, made = await loop.create_connection(lambda: Http2Connection(pings), host, port)
    try:
        async with asyncio.timeout(60):
            while not made.takes(1):
                await asyncio.sleep(0)
            yield made
    finally:
        made.close()
        server.close()


async def received(reader: asyncio.StreamReader, wanted: int) -> Frame:
    """The next frame of a type."""
    while True:
        head = await reader.readexactly(9)
        payload = await reader.readexactly(int.from_bytes(head[:3], "big"))
        if head[3] == wanted:
            return head[3], head[4], int.from_bytes(head[5:], "big"), payload


def answer(stream: int, *parts: bytes, trailers: bytes = GOOD) -> bytes:
    told = [frame(frames.HEADERS, frames.END_HEADERS, stream, HEAD)]
    told += [frame(frames.DATA, 0, stream, part) for part in parts]
    told.append(frame(frames.HEADERS, frames.END_HEADERS | frames.END_STREAM, stream, trailers))
    return b"".join(told)


def saying(make: Callable[[int], bytes]) -> Serve:
    """A server that says to each call what `make` makes of its stream, and then closes the connection."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _, _, stream, _ = await received(reader, frames.DATA)
        writer.write(make(stream))
        writer.close()

    return serve


async def test_an_answer_in_several_frames_is_one_message() -> None:
    async with connected(saying(lambda stream: answer(stream, b"\0\0\0\0\5he", b"l", b"lo"))) as made:
        assert await made.call(HEAD, b"question", 60) == b"hello"


@pytest.mark.parametrize(
    ("make", "code", "details"),
    [
        (lambda s: answer(s, trailers=BAD), 9, "a b"),
        (lambda s: answer(s, b"\0\0\0\0\5hell"), 13, "the answer is not exactly one message"),
        (lambda s: answer(s, b"\1\0\0\0\1h"), 13, "the answer is not exactly one message"),
        (lambda s: answer(s, b"\0\0\0\0\1h", trailers=HEAD), 14, "HTTP status 200"),
        (lambda s: answer(s, trailers=headers.encoded([(b"grpc-status", b"\xb2")])), 14, ""),
        (lambda s: frame(1, 4, s, headers.encoded([(b":status", b"503")])), 14, "HTTP status 503"),
        (lambda s: frame(frames.RST_STREAM, 0, s, (7).to_bytes(4, "big")), 14, connection.NOT_BEGUN),
        (lambda s: frame(frames.RST_STREAM, 0, s, (2).to_bytes(4, "big")), 14, "Stream removed"),
        (lambda s: frame(frames.GOAWAY, 0, 0, bytes(8)), 14, connection.NOT_BEGUN),
        (lambda s: frame(frames.HEADERS, 4, s, b"\xbe"), 14, None),
        (lambda s: frame(frames.PUSH_PROMISE, 4, s, b"\0\0\0\2"), 14, None),
        (lambda s: frame(frames.HEADERS, 0, s, HEAD) + frame(frames.DATA, 0, s, b""), 14, None),
        (lambda s: b"", 14, None),
        (lambda s: b"HTTP/1.1 400 Bad Request\r\n\r\n", 14, None),
    ],
)  # fmt: skip
async def test_what_is_no_good_answer_fails_the_call(
    make: Callable[[int], bytes], code: int, details: str | None
) -> None:
    async with connected(saying(make)) as made:
        with pytest.raises(Failed) as caught:
            await made.call(HEAD, b"question", 60)
        assert caught.value.code == code
        assert details is None or caught.value.details == details
        assert details != connection.NOT_BEGUN or not made.takes(1) or make(1)[3] == frames.RST_STREAM


async def test_what_does_not_fit_into_the_window_is_not_taken() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _, _, stream, _ = await received(reader, frames.DATA)
        writer.write(frames.settings({frames.INITIAL_WINDOW_SIZE: 10, frames.MAX_CONCURRENT_STREAMS: 1}))
        writer.write(answer(stream, b"\0\0\0\0\0"))
        await received(reader, frames.RST_STREAM)

    async with connected(serve) as made:
        assert made.takes(frames.WINDOW - 5) and not made.takes(frames.WINDOW - 4)
        await made.call(HEAD, b"question", 60)
        assert made.takes(5) and not made.takes(6)
        made.call(HEAD, b"", 60).cancel()
        assert not made.takes(0)


async def test_settings_open_the_window_of_the_connection_once() -> None:
    later = frames.settings({frames.INITIAL_WINDOW_SIZE: 0}), frames.settings({frames.INITIAL_WINDOW_SIZE: 10})
    async with connected(saying(lambda stream: b"".join(later) + answer(stream, b"\0\0\0\0\0"))) as made:
        before = made._window
        await made.call(HEAD, b"question", 60)
        assert made._window == before - len(b"\0\0\0\0\0question")


@pytest.mark.parametrize(
    ("address", "host", "port", "path"),
    [
        ("a.b:2379", "a.b", 2379, ""),
        ("http://[::1]:2379/", "::1", 2379, ""),
        ("::1:2379", "::1", 0, ""),  # gRPC reads it in another way
        ("http://a.b", "", 0, ""),
        ("http://a.b:99999999", "a.b", 0, ""),
        ("unix:///run/etcd", "", 0, "/run/etcd"),
        ("unix:etcd.sock", "", 0, "etcd.sock"),
    ],
)
def test_the_place_in_an_address(address: str, host: str, port: int, path: str) -> None:
    line = Line(address, (1, 1))
    assert (line._port, line._path) == (port, path)
    assert not port or line._host == host


async def test_a_call_that_is_late_or_not_wanted_is_cancelled_at_the_server() -> None:
    cancelled = asyncio.Queue[int]()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            cancelled.put_nowait((await received(reader, frames.RST_STREAM))[2])

    async with connected(serve) as made:
        unwanted = made.call(HEAD, b"", 60)
        with pytest.raises(Failed) as late:
            await made.call(HEAD, b"", -1)
        assert (late.value.code, late.value.details) == (4, connection.LATE)
        made.forget(unwanted)
        assert [await cancelled.get(), await cancelled.get()] == [3, 1]


async def test_calls_fail_when_nothing_answers_a_ping() -> None:
    pings = list[int]()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            pings.append((await received(reader, frames.PING))[0])

    async with connected(serve, pings=(20, 200)) as made:
        with pytest.raises(Failed) as caught:
            await made.call(HEAD, b"", 60)
        assert caught.value.code == 14 and made.lost
        assert len(pings) == 1  # etcd ends connections with too many


async def test_closing_cancels_the_callers() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await received(reader, frames.GOAWAY)

    async with connected(serve) as made:
        call = cast(asyncio.Future[bytes], made.call(HEAD, b"", 60))
        made.close()
        with pytest.raises(asyncio.CancelledError):
            await call
