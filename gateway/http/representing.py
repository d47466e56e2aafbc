"""Re-encoding of JSON answers into the representation that a client asked for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

from gateway.http.exchange import JSON_TYPE, Request, Response

_OFFLOAD = 64 * 1024  # bytes from which the event loop does not do it itself


async def represented(request: Request, response: Response) -> Response:
    """The response in the request's format, indented where that is wanted; only JSON is touched, and no streams."""
    format_ = request.representation.format
    pretty = request.human or request.representation.pretty
    encode = (format_.encode_pretty if pretty else None) or format_.encode
    if encode is None or response.content_type != JSON_TYPE:
        return response
    body: bytes | Sequence[bytes] | AsyncIterator[bytes] = response.body
    if not isinstance(body, bytes):
        if isinstance(body, AsyncIterator):
            return response
        body = b"".join(body)
    if not body:
        return response
    encoded = encode(body) if len(body) < _OFFLOAD else await asyncio.to_thread(encode, body)
    content_type = format_.media_type.encode()
    return Response(response.status, encoded, content_type, response.headers, response.cache_control)
