"""Reads the messages of a WebSocket's client (RFC 6455), for protocols in which the client sends data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gateway.http.websocket import BINARY, CLOSE, PING, PONG, TEXT, frame

MOST = 1 << 20  # bytes of one message
_AT_ONCE = 500  # frames
_CONTINUATION = 0
_LARGEST_CONTROL = 125  # bytes


class ProtocolError(Exception):
    """The client violates the protocol."""


class Message(NamedTuple):
    """A message of opcode TEXT or BINARY, or CLOSE with the status code as its payload."""

    opcode: int
    payload: bytes


class Messages:
    """Joins frames to messages. One call of `feed` reads a limited number of frames, so that other tasks can run. If
    `more` is True after it, call `feed(b"")` for the rest.

    `answers` must be sent to the client: a pong for the last of the pings that came together (RFC 6455, 5.5.3).
    """

    def __init__(self) -> None:
        self._held = bytearray()
        self._begun: tuple[int, bytearray] | None = None  # opcode and data of an incomplete message
        self.answers, self.more = b"", False

    def feed(self, data: bytes) -> Iterator[Message]:
        """The messages that are complete after `data` is added. Raises ProtocolError."""
        self._held += data
        self.more, left, at = False, _AT_ONCE, 0
        try:
            while (found := _frame(self._held, at)) is not None:
                if not left:
                    self.more = True
                    return
                left -= 1
                opcode, last, payload, at = found
                if opcode == PING:
                    self.answers = frame(PONG, payload)
                elif opcode == CLOSE:
                    yield Message(CLOSE, payload[:2])
                elif opcode != PONG and (message := self._joined(opcode, last, payload)) is not None:
                    yield message
        finally:
            del self._held[:at]
        if len(self._held) > MOST + 14:
            raise ProtocolError("a message is too large")

    def _joined(self, opcode: int, last: bool, payload: bytes) -> Message | None:
        if opcode == _CONTINUATION:
            if self._begun is None:
                raise ProtocolError("a continuation frame came before the first frame of a message")
            opcode, parts = self._begun
            parts += payload
        elif opcode not in (TEXT, BINARY) or self._begun is not None:
            raise ProtocolError("a message is out of turn")
        else:
            parts = bytearray(payload)
        if len(parts) > MOST:
            raise ProtocolError("a message is too large")
        self._begun = None if last else (opcode, parts)
        return Message(opcode, bytes(parts)) if last else None


def _frame(data: bytearray, at: int) -> tuple[int, bool, bytes, int] | None:
    """Opcode, whether it is the last part, payload, and where the next frame starts; None if more data is needed."""
    if len(data) < at + 2:
        return None
    opcode, size, start = data[at] & 15, data[at + 1] & 127, at + 2
    if not data[at + 1] & 128:
        raise ProtocolError("a client's frame is not masked")
    if size > _LARGEST_CONTROL:
        if opcode >= CLOSE:
            raise ProtocolError("a control frame is too large")
        width = 2 if size == 126 else 8
        if len(data) < start + width:
            return None
        size, start = int.from_bytes(data[start : start + width]), start + width
    if size > MOST:
        raise ProtocolError("a message is too large")
    end = start + 4 + size
    if len(data) < end:
        return None
    return opcode, bool(data[at] & 128), _unmasked(data[start + 4 : end], bytes(data[start : start + 4])), end


def _unmasked(payload: bytearray, mask: bytes) -> bytes:
    size = len(payload)
    key = int.from_bytes((mask * (size // 4 + 1))[:size])
    return (int.from_bytes(payload) ^ key).to_bytes(size)
