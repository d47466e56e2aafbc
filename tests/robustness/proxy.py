"""A TCP proxy between an HTTP/2 client and its server that can cut, hold, delay and silence what goes through it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

CHUNK = 1 << 16
HEAD = 9  # bytes of a frame's head
DATA, HEADERS = 0, 1
END_STREAM = 1  # a flag


class Proxy:
    """Forwards connections to a port of this machine. `delay` is in seconds, for each chunk in each direction."""

    def __init__(self, target: int) -> None:
        self.target, self.port, self.delay = target, 0, 0.0
        self._flows = asyncio.Event()
        self._flows.set()
        self._refuses = False
        self._answers: set[_Answers] = set()
        self._silent = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def is_used(self) -> bool:
        """Whether a connection is open."""
        return bool(self._writers)

    def hold(self) -> None:
        """Half-opens connections: they stay open, but no byte passes."""
        self._flows.clear()

    def silence(self) -> None:
        """Answers no call, but pings: the connections seem healthy."""
        self._silent = True
        for answers in self._answers:
            answers.silence()

    def silence_streams(self) -> None:
        """Stops the answers that have begun, such as those of watches; other calls are answered."""
        for answers in self._answers:
            answers.silence_open()

    def cut(self) -> None:
        """Breaks all connections, and accepts no new ones."""
        self._refuses = True
        for writer in self._writers:
            writer.transport.abort()

    def heal(self) -> None:
        """Ends all faults. The bytes that were held back are sent now."""
        self._refuses = self._silent = False
        self.delay = 0.0
        self._flows.set()
        for answers in self._answers:
            answers.release()

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
        answers = _Answers(writer)
        if self._silent:
            answers.silence()
        self._writers |= {writer, back}
        self._answers.add(answers)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._copy(reader, back, None))
                group.create_task(self._copy(there, writer, answers))
        finally:
            for each in (writer, back):
                each.transport.abort()
            self._writers -= {writer, back}
            self._answers.discard(answers)

    async def _copy(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, answers: _Answers | None) -> None:
        with suppress(OSError):
            while chunk := await source.read(CHUNK):
                if self.delay:
                    await asyncio.sleep(self.delay)
                await self._flows.wait()
                if answers is None:
                    sink.write(chunk)
                else:
                    answers.pass_on(chunk)
                await sink.drain()
        sink.transport.abort()


class _Answers:
    """The frames that a server sends on one connection (RFC 9113, section 4.1); some are held back."""

    def __init__(self, sink: asyncio.StreamWriter) -> None:
        self._sink, self._rest = sink, b""
        self._open: set[int] = set()  # streams whose answers have begun
        self._silent: set[int] | None = set()  # streams on which nothing passes; None: all
        self._held: list[bytes] = []

    def silence(self) -> None:
        """Holds back the headers and data of all streams."""
        self._silent = None

    def silence_open(self) -> None:
        """Holds back the frames of all streams that are open now."""
        self._silent = set(self._open)

    def release(self) -> None:
        """Lets all frames pass; those that were held back come first."""
        self._silent = set()
        self._sink.write(b"".join(self._held))
        self._held.clear()

    def pass_on(self, chunk: bytes) -> None:
        """Passes on the complete frames that are not held back."""
        rest, passed = self._rest + chunk, []
        while len(rest) >= HEAD and len(rest) >= (size := HEAD + int.from_bytes(rest[:3], "big")):
            frame, rest = rest[:size], rest[size:]
            stream = int.from_bytes(frame[5:HEAD], "big")
            if frame[3] in (DATA, HEADERS) and (self._silent is None or stream in self._silent):
                self._held.append(frame)
            else:
                passed.append(frame)
            if frame[3] in (DATA, HEADERS):
                (self._open.discard if frame[4] & END_STREAM else self._open.add)(stream)
        self._rest = rest
        self._sink.write(b"".join(passed))
