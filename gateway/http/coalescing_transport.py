"""A transport under which an answer's head leaves together with its body."""

from __future__ import annotations

import asyncio

_HEAD = b"HTTP/1."
_WORTH_JOINING = 1 << 16  # bytes of a body


class Corked:
    """A transport that keeps an answer's head until the body follows, at most until the loop's next turn.

    One write makes one TLS record and one system call.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._head = b""
        self._write = transport.write
        self.is_closing, self.abort = transport.is_closing, transport.abort
        self.pause_reading, self.resume_reading = transport.pause_reading, transport.resume_reading
        self.get_extra_info = transport.get_extra_info
        self.get_write_buffer_size = transport.get_write_buffer_size

    def write(self, data: bytes) -> None:
        if self._head:
            if len(data) > _WORTH_JOINING:
                self._flush()
                self._write(data)
            else:
                head, self._head = self._head, b""
                self._write(head + data)
        elif data.startswith(_HEAD):
            self._head = data
            self._loop.call_soon(self._flush)
        else:
            self._write(data)

    def write_answer(self, head: bytes, body: bytes) -> None:
        """Writes an answer that is whole."""
        if self._head:
            self._flush()
        if len(body) > _WORTH_JOINING:
            self._write(head)
            self._write(body)
        else:
            self._write(head + body)

    def close(self) -> None:
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        if self._head:
            head, self._head = self._head, b""
            self._write(head)
