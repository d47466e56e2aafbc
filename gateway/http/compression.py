"""Response compression: gzip of large answers, for clients that accept it (feature gate APIResponseCompression)."""

from __future__ import annotations

import struct
from collections.abc import AsyncIterator, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING

from gateway.http.exchange import Request, Response
from gateway.http.thread_pool import beside

if TYPE_CHECKING:
    from gateway.http.packed_pieces import Pieces

THRESHOLD = 128 * 1024  # bytes; smaller answers are not compressed
AT_ONCE = 8 << 20  # bytes; larger answers are compressed while they are sent
LITTLE = 4096  # bytes that may be compressed on the event loop
_HEADER = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
_LAST_BLOCK = b"\x03\0"  # an empty deflate block with the final bit


async def compressed(request: Request, response: Response) -> Response:
    """The response with its body gzipped, if it is large and the client accepts gzip; otherwise the response itself.

    Compression runs outside the event loop, unless nearly all of the body is in the cache of compressed pieces.
    """
    body = response.body
    if any(name == b"content-encoding" for name, _ in response.headers):  # another server has compressed it
        return response
    if isinstance(body, AsyncIterator):
        if not response.finite or not accepts_gzip(request.headers[b"accept-encoding"]):
            return response
        return _gzipped(response, _streamed(body))
    chunks = (body,) if isinstance(body, bytes) else body
    size = sum(map(len, chunks))
    if size <= THRESHOLD or not accepts_gzip(request.headers[b"accept-encoding"]):
        return response
    if (packed := _known(chunks)) is not None:
        return _gzipped(response, packed)
    if size > AT_ONCE:
        return _gzipped(response, _streamed(_each(chunks)))
    return _gzipped(response, await beside(lambda: gzip(chunks)))


def _gzipped(response: Response, packed: Sequence[bytes] | AsyncIterator[bytes]) -> Response:
    headers = [*response.headers, (b"content-encoding", b"gzip"), (b"vary", b"Accept-Encoding")]
    return Response(response.status, packed, response.content_type, headers, response.cache_control)


async def _each(chunks: Sequence[bytes]) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


async def _streamed(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The chunks as one gzip stream. Each is compressed just before it is sent, so that memory use stays small."""
    checksum = size = 0
    yield _HEADER
    async for chunk in chunks:
        piece = _hot().known(chunk)
        if piece is None:
            piece = await beside(partial(_hot().piece, chunk))
        checksum, size = piece.after(checksum), size + len(chunk)
        yield piece.packed
    yield _end(checksum, size)


def _known(chunks: Sequence[bytes]) -> list[bytes] | None:
    """The chunks as one gzip stream, if all but LITTLE bytes are in the cache; None otherwise."""
    if sum([len(chunk) for chunk in chunks if _hot().known(chunk) is None]) > LITTLE:
        return None
    return gzip(chunks)


def accepts_gzip(accept_encoding: bytes) -> bool:
    """Whether an Accept-Encoding header names gzip; as in kube-apiserver, "gzip;q=1" does not count."""
    return any(coding.strip(b" ") == b"gzip" for coding in accept_encoding.split(b","))


def gzip(chunks: Sequence[bytes]) -> list[bytes]:
    """The chunks as one gzip stream."""
    checksum = size = 0
    packed = [_HEADER]
    for chunk in chunks:
        piece = _hot().piece(chunk)
        checksum, size = piece.after(checksum), size + len(chunk)
        packed.append(piece.packed)
    return [*packed, _end(checksum, size)]


def _end(checksum: int, size: int) -> bytes:
    return _LAST_BLOCK + struct.pack("<LL", checksum, size & 0xFFFFFFFF)


@cache
def _hot() -> Pieces:
    from gateway.http.packed_pieces import Pieces  # imported late: many servers never send large answers

    return Pieces()
