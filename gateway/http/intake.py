"""Passes decrypted data from TLS to the protocol of a connection, through a buffer of its own.

Without such a buffer, uvloop allocates 256 kB for each read, which the C library maps and unmaps: 17 µs for a request
of 400 bytes, instead of 3.
"""

from __future__ import annotations

import asyncio

SIZE = 1 << 16  # bytes that are read at once
_GONE = asyncio.Protocol()


class Intake(asyncio.BufferedProtocol):
    """Passes all calls on to a protocol. All connections share one buffer: its data is passed on in the same call."""

    __slots__ = ("_buffer", "_protocol")

    def __init__(self, protocol: asyncio.Protocol, buffer: memoryview) -> None:
        self._protocol, self._buffer = protocol, buffer

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._protocol.connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        protocol, self._protocol = self._protocol, _GONE  # breaks a reference cycle: uvloop keeps bound methods of this
        protocol.connection_lost(exc)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        self._protocol.data_received(self._buffer[:nbytes].tobytes())

    def eof_received(self) -> bool | None:
        return self._protocol.eof_received()

    def pause_writing(self) -> None:
        self._protocol.pause_writing()

    def resume_writing(self) -> None:
        self._protocol.resume_writing()
