"""Answers that verbs give as JSON, in the representation that was negotiated.

Reads bring theirs encoded; what is left are the objects that writes answer, and every Status.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from gateway.encodings.encoder import Encoder
from gateway.encodings.registry import encode_plain
from gateway.http.exchange import JSON_TYPE, Request, Response
from gateway.http.negotiation import JSON

_OFFLOAD = 64 * 1024  # bytes from which the event loop does not do it itself
_STATUS = b'{"kind":"Status",'


async def represented(request: Request, response: Response, encoder: Callable[[], Encoder] | None = None) -> Response:
    """The response as the request wants it; only plain JSON is touched, and no streams.

    `encoder` makes that of the endpoint which answered; without one the answer is of no endpoint's kind.
    """
    representation = request.representation
    body = response.body
    if representation is JSON or response.encoded or response.content_type != JSON_TYPE or not isinstance(body, bytes):
        return response
    if not body:
        return response
    if encoder is None or body.startswith(_STATUS):
        content_type = representation.media.name.encode()
        encoded = encode_plain(representation, body)
    else:
        chosen = encoder()
        content_type = chosen.content_type
        if len(body) < _OFFLOAD:
            encoded = chosen.document(body)
        else:
            encoded = await asyncio.to_thread(chosen.document, body)
    return Response(response.status, encoded, content_type, response.headers, response.cache_control, encoded=True)
