"""Response compression: gzip for big answers to clients that accept it (Kubernetes, feature APIResponseCompression)."""

from __future__ import annotations

import struct
from collections.abc import AsyncIterator, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING

from gateway.http.exchange import Request, Response
from gateway.http.thread_pool import beside

if TYPE_CHECKING:
    from gateway.http.packed_pieces import Pieces

THRESHOLD = 128 * 1024  # bytes from which compression pays
AT_ONCE = 8 << 20  # bytes; more is packed while it is sent
LITTLE = 4096  # bytes, that are packed at once
_HEADER = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
_LAST_BLOCK = b"\x03\0"  # an empty one


async def compressed(request: Request, response: Response) -> Response:
    """The response with its body gzipped, outside the event loop, where the client accepts that and it is big."""
    body = response.body
    if any(name == b"content-encoding" for name, _ in response.headers):  # another server's
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
    """The chunks as one gzip stream, each packed when its turn comes, so that none of it piles up."""
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
    """The chunks as one gzip stream, where all but a little of it is remembered."""
    if sum([len(chunk) for chunk in chunks if _hot().known(chunk) is None]) > LITTLE:
        return None
    return gzip(chunks)


def accepts_gzip(accept_encoding: bytes) -> bool:
    """Whether gzip is among the codings, without a quality (kube-apiserver reads none)."""
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
    from gateway.http.packed_pieces import Pieces  # many servers never send so much

    return Pieces()
