"""Ends connections whose clients do not read their answers."""

from __future__ import annotations

import asyncio


class WriteStall:
    """Aborts a connection if its write buffer is full and does not shrink for `patience` seconds."""

    __slots__ = ("_loop", "_patience", "_timer", "_transport")

    def __init__(self, loop: asyncio.AbstractEventLoop, patience: float) -> None:
        self._loop, self._patience = loop, patience
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, transport: asyncio.Transport) -> None:
        """The write buffer is full: starts the timer."""
        if self._timer is None:
            self._expect(transport)

    def end(self) -> None:
        """The client has read most of the buffer, or is gone: stops the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _expect(self, transport: asyncio.Transport) -> None:
        waiting = transport.get_write_buffer_size()
        self._timer = self._loop.call_later(self._patience, self._check, transport, waiting)

    def _check(self, transport: asyncio.Transport, before: int) -> None:
        self._timer = None
        if transport.get_write_buffer_size() >= before:
            transport.abort()
        else:
            self._expect(transport)
