"""Sends a Response over ASGI, with the headers that every answer has."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, MutableMapping
from contextlib import suppress
from typing import Any

from gateway.http.answer_sink import Pourable
from gateway.http.cycle import AT_ONCE, SWITCHING
from gateway.http.exchange import Aborted, Header, Request, Reset, Response
from gateway.http.messages import ABORT, POUR, RESET, TUNNEL, WHOLE, PlainHeaders
from gateway.http.time_slices import next_turn
from gateway.http.tunnel import ClientEnd, Tunnel
from gateway.http.warnings import warning_headers

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_BODILESS = frozenset({204, 304})
NO_CACHE = b"no-cache, private"
PARTING = 900.0  # seconds that a tunnel's client has to read the rest
PIECE = 8 * AT_ONCE  # bytes of a large answer in one message, and in one turn of the event loop


async def send_response(
    request: Request, response: Response, send: Send, whole: bool = False, rests: bool = False
) -> bool:
    """Sends a response: a streamed one until it ends or the client closes the connection. Returns False.

    `whole`: whether `send` accepts the messages WHOLE and POUR. `rests`: whether a stream may rest. If it does, the
    result is True, and `go_on` must be called once the sink is woken.
    """
    body = response.body
    recurring: tuple[Header, ...] = (
        (b"content-type", response.content_type),
        (b"cache-control", response.cache_control),
        *request.flow_headers,
    )
    headers: list[Header] = [(b"audit-id", request.audit_id)]
    if not response.content_type:
        recurring = recurring[1:]
    if response.bare or response.tunnel is not None:  # headers of this server's answers do not belong there
        recurring, headers = (), [(b"content-type", response.content_type)] if response.content_type else []
    if response.headers:
        headers += response.headers
    if request.warnings:
        headers += warning_headers(request.warnings)
    status = response.status
    if response.tunnel is not None:
        await _tunnel(response.tunnel, headers, send)
    elif isinstance(body, bytes):
        if status not in _BODILESS:
            headers.append((b"content-length", b"%d" % len(body)))
        if whole:
            own = PlainHeaders(*headers) if _is_plain(request, response) else headers
            await send({"type": WHOLE, "status": status, "recurring": recurring, "headers": own, "body": body})
            return False
        await send({"type": "http.response.start", "status": status, "headers": [*recurring, *headers]})
        await send({"type": "http.response.body", "body": body})
    elif isinstance(body, AsyncIterator):
        await send({"type": "http.response.start", "status": status, "headers": [*recurring, *headers]})
        if whole and isinstance(body, Pourable) and request.method == "GET":
            await send({"type": POUR, "take": body.pour_into, "rests": rests})
        return await _stream(_cut(body) if response.finite else body, request, send)
    else:
        headers.append((b"content-length", b"%d" % sum(map(len, body))))
        await send({"type": "http.response.start", "status": status, "headers": [*recurring, *headers]})
        for piece in pieces(body):
            await next_turn()
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
    return False


def _is_plain(request: Request, response: Response) -> bool:
    """Whether an answer has, besides the recurring headers, only Audit-ID and Content-Length, both made here."""
    if response.headers or request.warnings or response.bare or response.status in _BODILESS:
        return False
    return b"audit-id" not in request.headers


async def go_on(request: Request, body: Pourable, send: Send) -> bool:
    """Continues a stream that has rested; returns True if it rests again."""
    return await _stream(body, request, send)


def pieces(chunks: Iterable[bytes]) -> Iterator[bytes | memoryview]:
    """Joins small chunks and cuts large ones, so that each piece is at most `PIECE` bytes.

    Large chunks are not copied, except for their ends, which are joined with small neighbours.
    """
    pending: list[memoryview] = []
    size = 0
    for chunk in chunks:
        rest = memoryview(chunk)
        while size + len(rest) >= AT_ONCE:
            if pending:
                pending.append(rest[: AT_ONCE - size])
                yield b"".join(pending)
                rest, pending, size = rest[AT_ONCE - size :], [], 0
            else:
                whole = min(PIECE, len(rest) - len(rest) % AT_ONCE)
                yield rest[:whole]
                rest = rest[whole:]
        if rest:
            pending.append(rest)
            size += len(rest)
    if pending:
        yield b"".join(pending)


async def _cut(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """A body that is made while it is sent, cut to pieces of `PIECE` bytes. Each waits for its turn among the pieces of
    all large answers.
    """
    async for chunk in chunks:
        for start in range(0, len(chunk), PIECE):
            await next_turn()
            yield chunk[start : start + PIECE]


async def _stream(chunks: AsyncIterator[bytes], request: Request, send: Send) -> bool:
    """Sends `chunks` until they end; returns True if the body rests. When the client disconnects, the wait for the next
    chunk is cancelled.
    """
    task = asyncio.current_task()
    assert task is not None
    gone = asyncio.ensure_future(request.disconnected())
    gone.add_done_callback(lambda watcher: None if watcher.cancelled() else task.cancel())
    try:
        async for chunk in chunks:
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
            chunk = b""  # frees the memory: a watch may wait long for the next chunk
        if isinstance(chunks, Pourable) and chunks.resting:
            return True
        await send({"type": "http.response.body", "body": b""})
    except Aborted:
        await send({"type": ABORT})
    except Reset:
        await send({"type": RESET})
    except asyncio.CancelledError:
        if not gone.done():
            raise
        task.uncancel()
    finally:
        gone.cancel()
        close = getattr(chunks, "aclose", None)
        if close is not None:
            await close()
    return False


async def _tunnel(tunnel: Tunnel, headers: list[Header], send: Send) -> None:
    """Turns the connection into a tunnel and runs it; ends the connection once the client has read all data."""
    asked: dict[str, Any] = {"type": TUNNEL, "more_body": True}
    try:
        await send({"type": "http.response.start", "status": SWITCHING, "headers": headers})
        await send(asked)
        if "client" in asked:
            client: ClientEnd = asked["client"]
            await tunnel.run(client)
            with suppress(TimeoutError):
                async with asyncio.timeout(PARTING):
                    await client.flush()
    finally:
        await tunnel.aclose()
    await send({"type": "http.response.body", "body": b""})


def with_standard_headers(request: Request, send: Send) -> Send:
    """Wraps `send` so that an answer of other code gets the headers that every answer has."""

    async def wrapped(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            headers = list(message.get("headers", ()))
            if not any(name == b"cache-control" for name, _ in headers):
                headers.append((b"cache-control", NO_CACHE))
            message["headers"] = [*headers, (b"audit-id", request.audit_id), *request.flow_headers]
        await send(message)

    return wrapped
