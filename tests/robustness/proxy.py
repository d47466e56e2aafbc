"""A TCP proxy between a client and a server that can cut, hold and delay what goes through it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

CHUNK = 1 << 16


class Proxy:
    """Passes connections on to a port of this machine. `delay` is in seconds, for each piece in each direction."""

    def __init__(self, target: int) -> None:
        self.target, self.port, self.delay = target, 0, 0.0
        self._flows = asyncio.Event()
        self._flows.set()
        self._refuses = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def hold(self) -> None:
        """Connections stay open, and nothing passes any more: they are half open."""
        self._flows.clear()

    def cut(self) -> None:
        """Breaks all connections, and takes no new ones."""
        self._refuses = True
        for writer in self._writers:
            writer.transport.abort()

    def heal(self) -> None:
        """Undoes `hold` and `cut`."""
        self._refuses = False
        self._flows.set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Proxy]:
        server = await asyncio.start_server(self._take, "127.0.0.1", self.port)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            self.cut()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._pass(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._refuses:
            return writer.transport.abort()
        await self._flows.wait()
        try:
            there, back = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            return writer.transport.abort()
        self._writers |= {writer, back}
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._copy(reader, back))
                group.create_task(self._copy(there, writer))
        finally:
            for each in (writer, back):
                each.transport.abort()
            self._writers -= {writer, back}

    async def _copy(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while chunk := await source.read(CHUNK):
                if self.delay:
                    await asyncio.sleep(self.delay)
                await self._flows.wait()
                sink.write(chunk)
                await sink.drain()
        sink.transport.abort()
