"""How the two directions of a connection are doing."""

from __future__ import annotations

import asyncio

from gateway.http.event import Event


class FlowControl:
    """Whether anything is read of a client, and whether it takes what is written."""

    __slots__ = ("_transport", "_writable", "read_paused", "write_paused")

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self.read_paused = self.write_paused = False
        self._writable: Event | None = None  # from the first time that somebody waits

    async def drain(self) -> None:
        """Waits until the client has taken most of what was written."""
        if self.write_paused:
            if self._writable is None:
                self._writable = Event()
            await self._writable.wait()

    def pause_reading(self) -> None:
        """Reads no more for now."""
        if not self.read_paused:
            self.read_paused = True
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Reads on."""
        if self.read_paused:
            self.read_paused = False
            self._transport.resume_reading()

    def pause_writing(self) -> None:
        """The transport says that much waits for the client."""
        self.write_paused = True
        if self._writable is not None:
            self._writable.clear()

    def resume_writing(self) -> None:
        """It says that the client has taken most of that."""
        self.write_paused = False
        if self._writable is not None:
            self._writable.set()
