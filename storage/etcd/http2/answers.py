"""The usual answer of a call, read at once: a header block, a frame with the only message, and the trailers.

To read its three frames one by one takes three times as long. What is not usual is left to the connection.
"""

from __future__ import annotations

from storage.etcd.http2.frames import END_HEADERS, END_STREAM, HEAD, HEADERS, LARGEST, MAX_WINDOW, FrameError, head_of
from storage.etcd.http2.headers import decoded

PREFIX = 5  # bytes before a message of gRPC: whether it is compressed, and its length
_ENDS = END_HEADERS | END_STREAM
_UNCOMPRESSED = 0


def answer_at(data: bytes, at: int) -> tuple[int, bytes, int] | None:
    """The stream of a usual answer whose first frame is at `at`, its message, and where it ends; None if there is none.

    A usual answer is whole. It has the statuses 200 of HTTP and 0 of gRPC, and one message in one frame.
    """
    size = len(data)
    first, flags, stream = head_of(data, at)
    begin = at + HEAD + (first >> 8)
    if first & 0xFF != HEADERS or flags != END_HEADERS or stream > MAX_WINDOW or size - begin < HEAD + PREFIX:
        return None
    middle, flags, same = head_of(data, begin)
    measure, end = middle >> 8, begin + HEAD + (middle >> 8)
    if middle & 0xFF or flags or same != stream or size - end < HEAD:  # DATA has the number 0
        return None
    last, flags, same = head_of(data, end)
    stop = end + HEAD + (last >> 8)
    if last & 0xFF != HEADERS or flags != _ENDS or same != stream or stop > size:
        return None
    begun = begin + HEAD
    if max(first >> 8, measure, last >> 8) > LARGEST or measure < PREFIX or data[begun] != _UNCOMPRESSED:
        return None
    if int.from_bytes(data[begun + 1 : begun + PREFIX], "big") != measure - PREFIX:
        return None
    if not _are_good(data[at + HEAD : begin], data[end + HEAD : stop]):
        return None
    return stream, data[begun + PREFIX : end], stop


def _are_good(beginning: bytes, trailers: bytes) -> bool:
    """Whether the header blocks of an answer have the statuses of a usual one."""
    try:
        return decoded(beginning).get(":status", "200") == "200" and decoded(trailers).get("grpc-status") == "0"
    except FrameError:
        return False  # the connection finds it, too, and ends
