"""The part of SPDY/3.1 that kubelets use: streams that the client opens, and data in both directions.

The kubelet's implementation (moby/spdystream) has no flow control; there is only the back-pressure of the connection.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping
from typing import NamedTuple

PROTOCOL = "SPDY/3.1"
MOST = 1 << 20  # the most bytes of a received frame
_LARGEST = 32 << 10  # the most bytes of data in a frame that is sent
_CONTROL, _FIN = 0x8003, 1
SYN_STREAM, SYN_REPLY, RST_STREAM, PING, GOAWAY = 1, 2, 3, 6, 7
DATA = 0
_PROTOCOL_ERROR = 1
_AT_ONCE = 250  # frames that one call of `feed` returns, so that the event loop is not blocked
_PING_SIZE = 4  # bytes

_WORDS = (
    "options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow "
    "authorization cache-control connection content-base content-encoding content-language content-length "
    "content-location content-md5 content-range content-type date etag expect expires from host if-match "
    "if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards pragma "
    "proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade "
    "user-agent vary via warning www-authenticate method get status"
)
_PHRASES = ("200 OK", "version", "HTTP/1.1", "url", "public", "set-cookie", "keep-alive", "origin")
_REST = (
    b"100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505"
    b"203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden"
    b"404 Not Found500 Internal Server Error501 Not Implemented503 Service Unavailable"
    b"Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMT"
    b"chunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,"
    b"text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0."
)


def _dictionary() -> bytes:
    """The zlib dictionary for headers (SPDY/3, 2.6.10.1): texts with their lengths before them, then texts without."""
    texts = [*_WORDS.split(" "), *_PHRASES]
    return b"".join(struct.pack(">I", len(text)) + text.encode() for text in texts) + _REST


class Broken(Exception):
    """The received bytes are not valid SPDY."""


class Frame(NamedTuple):
    """A received frame. `kind` is DATA or the type of a control frame; `stream` is 0 for a frame of the session."""

    kind: int
    stream: int
    data: bytes
    last: bool


class Session:
    """The client's side of a session: encodes frames to send, and decodes received bytes.

    `feed` returns a limited number of frames. If `more` is set, complete frames are left, and the next call of `feed`,
    with b"", returns them.
    """

    def __init__(self) -> None:
        self._packing = zlib.compressobj(zdict=_dictionary())
        self._next, self._held = 1, bytearray()
        self.more = False

    def open(self, headers: Mapping[str, str]) -> tuple[int, bytes]:
        """Opens a stream. Returns its number, and the bytes to send."""
        number, self._next = self._next, self._next + 2
        content = [struct.pack(">I", len(headers))]
        for name, value in headers.items():
            for text in (name.lower().encode(), value.encode()):
                content.append(struct.pack(">I", len(text)) + text)
        packed = self._packing.compress(b"".join(content)) + self._packing.flush(zlib.Z_SYNC_FLUSH)
        return number, _control(SYN_STREAM, struct.pack(">IIH", number, 0, 0) + packed)

    def data(self, stream: int, data: bytes, *, last: bool = False) -> bytes:
        """The bytes to send for data of a stream; `last` ends the stream in this direction."""
        pieces = [data[at : at + _LARGEST] for at in range(0, len(data), _LARGEST)] or [b""]
        flags = [0] * (len(pieces) - 1) + [_FIN if last else 0]
        return b"".join(
            struct.pack(">I", stream) + bytes((flag,)) + len(piece).to_bytes(3) + piece
            for flag, piece in zip(flags, pieces, strict=True)
        )

    def pong(self, frame: Frame) -> bytes:
        """The answer to a PING."""
        return _control(PING, frame.data)

    def refusal(self, frame: Frame) -> bytes:
        """The answer to a SYN_STREAM: the kubelet may not open streams."""
        return _control(RST_STREAM, struct.pack(">II", frame.stream, _PROTOCOL_ERROR))

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Takes received bytes, and yields the frames that are complete now. Raises Broken."""
        self._held += data
        self.more, at, left = False, 0, _AT_ONCE
        try:
            while len(self._held) >= at + 8:
                word, flags = int.from_bytes(self._held[at : at + 4]), self._held[at + 4]
                size = int.from_bytes(self._held[at + 5 : at + 8])
                if size > MOST:
                    raise Broken("a frame is too large")
                if len(self._held) < at + 8 + size:
                    return
                if not left:
                    self.more = True
                    return
                left -= 1
                content = bytes(self._held[at + 8 : at + 8 + size])
                at += 8 + size
                if not word >> 31:
                    yield Frame(DATA, word, content, bool(flags & _FIN))
                    continue
                if word >> 16 != _CONTROL:
                    raise Broken("it is of another version")
                kind = word & 0xFFFF
                if kind == PING and size != _PING_SIZE:
                    raise Broken("a ping has another size than 4 bytes")
                of_stream = kind in (SYN_STREAM, SYN_REPLY, RST_STREAM) and len(content) >= 4
                stream = int.from_bytes(content[:4]) & 0x7FFFFFFF if of_stream else 0
                yield Frame(kind, stream, content, bool(flags & _FIN) and of_stream)
        finally:
            del self._held[:at]


def _control(kind: int, content: bytes) -> bytes:
    return struct.pack(">HH", _CONTROL, kind) + b"\0" + len(content).to_bytes(3) + content
