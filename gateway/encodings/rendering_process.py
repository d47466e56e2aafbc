"""Renders in another process, for formats that would hold Python's global lock (GIL) for long."""

from __future__ import annotations

import asyncio
import contextlib

from gateway import children
from gateway.encodings.yaml_process import LENGTH

IDLE = 30.0  # seconds after which an idle process ends


class RenderingFailed(Exception):
    """The process ended while it rendered, perhaps for lack of memory."""


class RenderingProcess:
    """One child process that renders YAML. It is started when needed, and renders one document at a time."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self._turn: asyncio.Lock | None = None
        self._idle: asyncio.TimerHandle | None = None

    async def yaml(self, source: bytes) -> bytes:
        """Renders JSON as YAML. Raises RenderingFailed."""
        if self._turn is None:
            self._turn = asyncio.Lock()
        async with self._turn:
            work = asyncio.ensure_future(self._exchange(source))
            try:
                return await asyncio.shield(work)
            except asyncio.CancelledError:
                await asyncio.wait([work])  # the answer has to be read to its end
                raise

    async def _exchange(self, source: bytes) -> bytes:
        if self._idle is not None:
            self._idle.cancel()
        try:
            process = self._process or await self._start()
            assert process.stdin is not None and process.stdout is not None
            process.stdin.write(len(source).to_bytes(LENGTH, "big"))
            process.stdin.write(source)
            await process.stdin.drain()
            length = int.from_bytes(await process.stdout.readexactly(LENGTH), "big")
            made = await process.stdout.readexactly(length)
        except (OSError, EOFError) as error:
            self._end()
            raise RenderingFailed("the process that renders YAML ended") from error
        self._idle = asyncio.get_running_loop().call_later(IDLE, self._end)
        return made

    async def _start(self) -> asyncio.subprocess.Process:
        command = children.command("gateway.encodings.yaml_process")
        pipe = asyncio.subprocess.PIPE
        self._process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, limit=1 << 20)
        return self._process

    async def close(self) -> None:
        """Ends the process, whatever it renders, and waits until it has ended."""
        if self._idle is not None:
            self._idle.cancel()
        process = self._process
        self._end()
        if process is not None:
            with contextlib.suppress(ProcessLookupError):  # it has just ended
                process.kill()
            await process.wait()

    def _end(self) -> None:
        """Ends the process by closing its input; the event loop reaps it."""
        process, self._process = self._process, None
        if process is not None and process.stdin is not None:
            process.stdin.close()
