"""Re-encoding of JSON answers into the representation that a client asked for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

from gateway.http.exchange import JSON_TYPE, ListBody, Request, Response
from gateway.http.formats.format import ItemFormat
from gateway.jsontypes import loads

_OFFLOAD = 64 * 1024  # bytes from which the event loop does not do it itself


async def represented(request: Request, response: Response) -> Response:
    """The response in the request's format, indented where that is wanted; only JSON is touched, and no streams."""
    format_ = request.representation.format
    pretty = request.human or request.representation.pretty
    encode = (format_.encode_pretty if pretty else None) or format_.encode
    if encode is None or response.content_type != JSON_TYPE:
        return response
    content_type = format_.media_type.encode()
    body: bytes | Sequence[bytes] | AsyncIterator[bytes] = response.body
    if not isinstance(body, bytes):
        if isinstance(body, AsyncIterator):
            return response
        if isinstance(body, ListBody) and format_.items is not None:
            rendered = await asyncio.to_thread(_by_items, format_.items, body)
            return Response(response.status, rendered, content_type, response.headers, response.cache_control)
        body = b"".join(body)
    if not body:
        return response
    encoded = encode(body) if len(body) < _OFFLOAD else await asyncio.to_thread(encode, body)
    return Response(response.status, encoded, content_type, response.headers, response.cache_control)


def _by_items(format_: ItemFormat, body: ListBody) -> list[bytes]:
    """Renders a list piece by piece: a thread that does it at once would keep the interpreter to itself."""
    head, *groups, end = body
    before, after = format_.frame(head + end)
    rendered = [before]
    for group in groups:
        for item in loads(b"[" + group.removeprefix(b",") + b"]"):
            if len(rendered) > 1:
                rendered.append(format_.separator)
            rendered.append(format_.render(item))
    rendered.append(after)
    return rendered
