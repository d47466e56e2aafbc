"""Frames of HTTP/2 (RFC 9113, sections 4 and 6)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from struct import Struct

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4, 5, 6, 7, 8, 9
END_STREAM = ACK = 0x1
END_HEADERS, PADDED, PRIORITY = 0x4, 0x8, 0x20
HEADER_TABLE_SIZE, ENABLE_PUSH, MAX_CONCURRENT_STREAMS, INITIAL_WINDOW_SIZE, MAX_FRAME_SIZE = 1, 2, 3, 4, 5
LARGEST = 16_384  # bytes of a frame's payload, for both sides: neither may send more unless the other asks for it
WINDOW = 65_535  # bytes that may be sent before the other side has said anything
MAX_WINDOW = 2**31 - 1
CANCEL, REFUSED = 8, 7  # codes of RST_STREAM
HEAD = 9  # bytes before the payload

Frame = tuple[int, int, int, bytes]  # type, flags, stream, payload

head_of = Struct(">IBI").unpack_from
"""The head of the frame at a place in bytes: length and type (its last byte), flags, reserved bit with stream."""


class FrameError(Exception):
    """The other side breaks the protocol, or uses a part of it that this client does not know."""


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    """The bytes of a frame."""
    return b"%b%c%c%b%b" % (len(payload).to_bytes(3, "big"), kind, flags, stream.to_bytes(4, "big"), payload)


def only_message(stream: int, message: bytes) -> bytes:
    """The bytes of the DATA frame with a message of gRPC, which is not compressed, as the only one of its stream."""
    size = len(message)
    length = ((size + 5) << 16 | DATA << 8 | END_STREAM).to_bytes(5, "big")
    return b"%b%b\0%b%b" % (length, stream.to_bytes(4, "big"), size.to_bytes(4, "big"), message)


def settings(values: dict[int, int]) -> bytes:
    """The bytes of a SETTINGS frame."""
    return frame(SETTINGS, 0, 0, b"".join(k.to_bytes(2, "big") + v.to_bytes(4, "big") for k, v in values.items()))


def read_settings(payload: bytes) -> dict[int, int]:
    """The values of a SETTINGS frame. Raises FrameError."""
    if len(payload) % 6:
        raise FrameError("a SETTINGS frame has a wrong length")
    return {
        int.from_bytes(payload[at : at + 2], "big"): int.from_bytes(payload[at + 2 : at + 6], "big")
        for at in range(0, len(payload), 6)
    }


def number(payload: bytes, at: int = 0) -> int:
    """The 31-bit number in a payload. Raises FrameError."""
    if len(payload) < at + 4:
        raise FrameError("a frame is too short")
    return int.from_bytes(payload[at : at + 4], "big") & MAX_WINDOW


def _nothing(_data: bytes, _at: int) -> int:
    """Takes no frames."""
    return 0


class Frames:
    """Parts what is received into frames."""

    __slots__ = ("_rest",)

    def __init__(self) -> None:
        self._rest = b""

    def received(self, data: bytes, take: Callable[[bytes, int], int] = _nothing) -> Iterator[Frame]:
        """The frames that are whole with `data`. Raises FrameError for a frame that is larger than it may be.

        `take` is called with bytes, and with the place in them where a frame of HEADERS is whole. It may take several
        frames, from this one on, and returns where they end; else 0.
        """
        if self._rest:
            data = self._rest + data
        at, size = 0, len(data)
        while size - at >= HEAD:
            first, flags, stream = head_of(data, at)
            end = at + HEAD + (first >> 8)
            if first >> 8 > LARGEST:
                raise FrameError(f"a frame has {first >> 8} bytes")
            if end > size:
                break
            if first & 0xFF == HEADERS and (taken := take(data, at)):
                at = taken
                continue
            yield first & 0xFF, flags, stream & MAX_WINDOW, data[at + HEAD : end]
            at = end
        self._rest = data[at:]
