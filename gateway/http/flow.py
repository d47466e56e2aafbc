"""Flow control of a connection, in both directions."""

from __future__ import annotations

import asyncio

from gateway.http.event import Event


class TransportFlow:
    """Whether reading from the client is paused, and whether writing is, because the client does not read."""

    __slots__ = ("_transport", "_writable", "read_paused", "write_paused")

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self.read_paused = self.write_paused = False
        self._writable: Event | None = None  # made at the first wait

    async def drain(self) -> None:
        """Waits until the client has read most of the written data."""
        if self.write_paused:
            if self._writable is None:
                self._writable = Event()
            await self._writable.wait()

    def pause_reading(self) -> None:
        """Stops reading from the client until `resume_reading`."""
        if not self.read_paused:
            self.read_paused = True
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Continues reading from the client."""
        if self.read_paused:
            self.read_paused = False
            self._transport.resume_reading()

    def pause_writing(self) -> None:
        """The transport calls this when its write buffer is full."""
        self.write_paused = True
        if self._writable is not None:
            self._writable.clear()

    def resume_writing(self) -> None:
        """The transport calls this when the client has read most of the write buffer."""
        self.write_paused = False
        if self._writable is not None:
            self._writable.set()
