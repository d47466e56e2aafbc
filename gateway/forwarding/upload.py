"""The body of a forwarded request, streamed as it arrives."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

from gateway.http.exchange import ClientDisconnected, Request

_SMALL = 64 << 10  # bytes: a body of that size is read first, since a task costs more


async def body_of(request: Request) -> tuple[bytes | AsyncIterator[bytes], int | None]:
    """The body: bytes if it is short, else a stream; and the length of a stream in bytes, None if that is unknown."""
    length = request.headers.get(b"content-length", b"")
    if b"transfer-encoding" not in request.headers:
        size = int(length) if length.isdigit() and len(length) < 20 else 0
        if size <= _SMALL:
            return (await request.body(_SMALL) if size else b""), None
        return Upload(request), size
    return Upload(request), None


class Upload:
    """Gives the parts of a body as they come. Other calls of `request.receive` wait until the body has ended."""

    def __init__(self, request: Request) -> None:
        self._receive, self._over, self._more = request.receive, asyncio.Event(), True
        request.receive = self._later

    def __aiter__(self) -> Upload:
        return self

    async def __anext__(self) -> bytes:
        """The next part. Raises ClientDisconnected where the body is cut."""
        if not self._more:
            raise StopAsyncIteration
        message = await self._receive()
        if message["type"] == "http.disconnect":
            self._over.set()
            raise ClientDisconnected
        self._more = bool(message.get("more_body", False))
        if not self._more:
            self._over.set()
        part: bytes = message.get("body", b"")
        return part

    async def _later(self) -> Mapping[str, Any]:
        await self._over.wait()
        return await self._receive()
