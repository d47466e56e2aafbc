"""Response compression: gzip for big answers to clients that accept it (Kubernetes, feature APIResponseCompression)."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator, Sequence

from gateway.http.exchange import Request, Response

THRESHOLD = 128 * 1024  # bytes from which compression pays
LEVEL = 1
_GZIP_WINDOW = zlib.MAX_WBITS | 16


async def compressed(request: Request, response: Response) -> Response:
    """The response with its body gzipped, outside the event loop, where the client accepts that and it is big."""
    body = response.body
    if isinstance(body, AsyncIterator):
        return response
    chunks = (body,) if isinstance(body, bytes) else body
    if sum(map(len, chunks)) <= THRESHOLD or not accepts_gzip(request.headers[b"accept-encoding"]):
        return response
    packed = await asyncio.to_thread(gzip, chunks)
    headers = [*response.headers, (b"content-encoding", b"gzip"), (b"vary", b"Accept-Encoding")]
    return Response(response.status, packed, response.content_type, headers, response.cache_control)


def accepts_gzip(accept_encoding: bytes) -> bool:
    """Whether gzip is among the codings, without a quality (kube-apiserver reads none)."""
    return any(coding.strip(b" ") == b"gzip" for coding in accept_encoding.split(b","))


def gzip(chunks: Sequence[bytes]) -> list[bytes]:
    """The chunks as one gzip stream."""
    packer = zlib.compressobj(LEVEL, zlib.DEFLATED, _GZIP_WINDOW)
    return [*filter(None, map(packer.compress, chunks)), packer.flush()]
