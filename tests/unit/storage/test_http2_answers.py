"""The short way of a usual answer does what the connection does with its frames one by one."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.etcd.http2 import connection, frames, headers
from storage.etcd.http2.answers import answer_at
from storage.etcd.http2.connection import Failed, Http2Connection
from storage.etcd.http2.frames import frame

OPENED = frames.settings({}) + frame(frames.WINDOW_UPDATE, 0, 0, (1 << 20).to_bytes(4, "big"))
CALLS = 3
OK = headers.encoded([(b"grpc-status", b"0")])
BLOCKS = (b"\x88", b"\x8d", OK, headers.encoded([(b"grpc-status", b"5")]), b"\xbe", b"")
MESSAGES = (b"\0\0\0\0\2hi", b"\0\0\0\0\0", b"\1\0\0\0\1h", b"\0\0\0\0\3hi", b"\0\0", b"")

streams = st.sampled_from([1, 3, 5, 7, 1 | 1 << 31])
flags = st.sampled_from([0, 1, 4, 5, 8, 0x24])
kinds = st.sampled_from([frames.HEADERS, frames.DATA, frames.CONTINUATION, frames.WINDOW_UPDATE, frames.PING])
any_frames = st.builds(frame, kinds, flags, streams, st.sampled_from([*BLOCKS, *MESSAGES, bytes(8)]))


def usual(stream: int, message: bytes, trailers: bytes = OK, beginning: bytes = b"\x88") -> bytes:
    return b"".join(
        (
            frame(frames.HEADERS, frames.END_HEADERS, stream, beginning),
            frame(frames.DATA, 0, stream, message),
            frame(frames.HEADERS, frames.END_HEADERS | frames.END_STREAM, stream, trailers),
        )
    )


answers = st.builds(usual, streams, st.sampled_from(MESSAGES), st.sampled_from(BLOCKS), st.sampled_from(BLOCKS))
good = st.builds(usual, st.sampled_from([1, 3, 5]), st.sampled_from(MESSAGES[:2]))


class Sent(asyncio.Transport):
    """Keeps what the connection sends."""

    def __init__(self) -> None:
        super().__init__()
        self.data, self.closed = b"", False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.data += data

    def is_closing(self) -> bool:
        return False

    def close(self) -> None:
        self.closed = True

    abort = close


async def after(pieces: list[bytes], cancelled: int) -> tuple[object, ...]:
    """What has become of a connection with three calls, of which one may be cancelled, after it has received pieces."""
    made, sent = Http2Connection((60_000, 60_000)), Sent()
    made.connection_made(sent)
    made.data_received(OPENED)
    calls = [made.call(b"\x83", b"question", 60) for _ in range(CALLS)]
    if cancelled < CALLS:
        calls[cancelled].cancel()
    for piece in pieces:
        made.data_received(piece)
    made._flush()
    results = [_result(call) for call in calls]
    state = made._window, made._received, made.lost, sorted(made._streams), sent.data, sent.closed
    made.close()
    return (*results, *state)


def _result(call: asyncio.Future[bytes]) -> object:
    if not call.done() or call.cancelled():
        return call.done()
    error = call.exception()
    if error is None:
        return call.result()
    assert isinstance(error, Failed)
    return error.code, error.details


@given(st.lists(good | answers | any_frames, max_size=8).map(b"".join), st.data(), st.integers(0, CALLS))
async def test_it_ends_calls_as_the_single_frames_do(raw: bytes, data: st.DataObject, cancelled: int) -> None:
    cut = data.draw(st.integers(0, len(raw)))
    pieces = [raw[:cut], raw[cut:]]
    short = await after(pieces, cancelled)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(connection.answers, "answer_at", lambda _data, _at: None)
        assert await after(pieces, cancelled) == short


@given(st.integers(1, 2**31 - 1), st.binary(max_size=300), st.binary(max_size=20))
def test_a_usual_answer_is_found_where_it_is(stream: int, message: bytes, around: bytes) -> None:
    raw = usual(stream, b"\0" + len(message).to_bytes(4, "big") + message)
    found = answer_at(around + raw + around, len(around))
    assert found == (stream, message, len(around) + len(raw))
    assert all(answer_at(raw[:end], 0) is None for end in range(9, len(raw)))


@given(st.binary(min_size=9, max_size=80) | any_frames | answers)
def test_any_bytes_are_an_answer_or_none(raw: bytes) -> None:
    found = answer_at(raw, 0)
    assert found is None or found[2] <= len(raw)
