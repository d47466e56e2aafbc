"""A log over a WebSocket: an empty message, and then the log in binary messages, or in text messages as base64."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator

from gateway.http.cycle import SWITCHING
from gateway.http.exchange import Request, Response
from gateway.http.websocket import TEXT, Events, acceptance, frame, is_sound, is_wanted, protocols_of, unsound

_BASE64 = b"base64.binary.k8s.io"
_PROTOCOLS = (b"", b"binary.k8s.io", _BASE64)


def as_messages(request: Request, response: Response) -> Response:
    """The answer as a WebSocket, if the client asked for one. 400 for an invalid handshake (RFC 6455), 403 for an
    unknown subprotocol.
    """
    if not is_wanted(request.headers) or not isinstance(response.body, AsyncIterator):
        return response
    if not is_sound(request.headers):
        return unsound()
    chosen = next((each for each in protocols_of(request.headers) or [b""] if each in _PROTOCOLS), None)
    if chosen is None:
        return Response(403, b"", b"", encoded=True, bare=True)
    said = acceptance(request.headers[b"sec-websocket-key"], [chosen])
    messages = Events(_begun(response.body), b"", _in_base64 if chosen == _BASE64 else None)
    return Response(SWITCHING, b"", b"", said, tunnel=messages)


async def _begun(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield b""
    async for chunk in chunks:
        yield chunk


def _in_base64(chunk: bytes) -> bytes:
    return frame(TEXT, base64.b64encode(chunk))
