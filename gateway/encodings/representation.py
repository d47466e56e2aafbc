"""Converts the JSON answers of verbs, and entries of the cache, to the negotiated representation.

Large ones are converted in a thread or in another process.
"""

from __future__ import annotations

from collections.abc import Callable

from gateway.encodings.encoder import Encoder
from gateway.encodings.registry import encode_plain
from gateway.encodings.rendering_process import RenderingProcess
from gateway.http.exchange import JSON_TYPE, Response
from gateway.http.negotiation import JSON, YAML, Representation
from gateway.http.thread_pool import beside
from gateway.http.time_slices import next_turn
from storage.entry import Entry

_OFFLOAD = 64 * 1024  # larger documents are not converted on the event loop
_OFFLOAD_ENTRY = 8 * 1024  # the same, for slow formats
_STATUS = b'{"kind":"Status",'


def is_status(response: Response) -> bool:
    """Whether a response, still in JSON, is a Status. A Status is never converted to a Table or to metadata only."""
    return isinstance(response.body, bytes) and response.body.startswith(_STATUS)


async def represented_entry(encoder: Encoder, entry: Entry, apart: RenderingProcess) -> bytes:
    """Encodes an entry of the cache, as for the answer to a GET. Raises RenderingFailed."""
    if entry.size > _OFFLOAD_ENTRY and encoder.apart is not None:
        return await apart.yaml(encoder.apart.json_entry(entry))
    if entry.size > _OFFLOAD and (fresh := encoder.fresh) is not None:
        return await beside(lambda: fresh(entry))
    if entry.size > _OFFLOAD:
        await next_turn()
    return encoder.entry(entry)


async def represented(
    representation: Representation,
    response: Response,
    encoder: Callable[[], Encoder] | None = None,
    apart: RenderingProcess | None = None,
) -> Response:
    """The response in a representation. Streams, and answers that are not JSON, stay as they are.

    `encoder` makes the encoder of the endpoint that answered; None for an answer that no endpoint gave.
    """
    body = response.body
    if representation is JSON or response.encoded or response.content_type != JSON_TYPE or not isinstance(body, bytes):
        return response
    if not body:
        return response
    if encoder is None or is_status(response):
        content_type = representation.media.name.encode()
        encoded = await _plain(representation, body, apart)
    else:
        chosen = encoder()
        content_type = chosen.content_type
        encoded = await _document(chosen, body, apart)
    return Response(response.status, encoded, content_type, response.headers, response.cache_control, encoded=True)


async def _plain(representation: Representation, body: bytes, apart: RenderingProcess | None) -> bytes:
    if representation.media is YAML and len(body) > _OFFLOAD_ENTRY and apart is not None:
        return await apart.yaml(body)
    if len(body) > _OFFLOAD:
        return await beside(lambda: encode_plain(representation, body))
    return encode_plain(representation, body)


async def _document(encoder: Encoder, body: bytes, apart: RenderingProcess | None) -> bytes:
    as_json = encoder.apart
    if len(body) <= (_OFFLOAD if as_json is None else _OFFLOAD_ENTRY):
        return encoder.document(body)
    if as_json is not None and apart is not None:
        return await apart.yaml(as_json.json_document(body))
    return await beside(lambda: encoder.document(body))
