"""The end of a connection that this side has closed: it waits for its client to end TLS too, which hardly any does."""

from __future__ import annotations

import asyncio

FAREWELL = 0.5  # seconds that a client has to say goodbye, and to read why it is refused
AT_STOP = 0.05  # seconds for it where the server stops and has nothing more to send


def end_soon(loop: asyncio.AbstractEventLoop, transport: asyncio.Transport, patience: float) -> None:
    """Ends a connection that is closing, whether or not its client answers; what it has not taken gets `FAREWELL`."""
    if transport.is_closing():
        loop.call_later(patience, _end, loop, transport, patience)


def _end(loop: asyncio.AbstractEventLoop, transport: asyncio.Transport, waited: float) -> None:
    if waited < FAREWELL and transport.get_write_buffer_size():
        end_soon(loop, transport, FAREWELL)
    else:
        transport.abort()
