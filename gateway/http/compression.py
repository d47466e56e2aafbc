"""Response compression: gzip for big answers to clients that accept it (Kubernetes, feature APIResponseCompression)."""

from __future__ import annotations

import struct
import zlib
from collections.abc import AsyncIterator, Sequence

from gateway.http.exchange import Request, Response
from gateway.http.thread_pool import beside

THRESHOLD = 128 * 1024  # bytes from which compression pays
LEVEL = 1
AT_ONCE = 8 << 20  # bytes; more is packed while it is sent
REMEMBERED = 64 * 1024  # bytes from which a chunk is remembered
HOT_BYTES = 64 << 20  # what remembering may take
_SEEN = 1024
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
        checksum, size, packed = await beside(lambda: _next(chunk, checksum, size))  # noqa: B023 - it is awaited
        yield packed
    yield _LAST_BLOCK + struct.pack("<LL", checksum, size & 0xFFFFFFFF)


def _next(chunk: bytes, checksum: int, size: int) -> tuple[int, int, bytes]:
    return zlib.crc32(chunk, checksum), size + len(chunk), _packed(chunk)


def accepts_gzip(accept_encoding: bytes) -> bool:
    """Whether gzip is among the codings, without a quality (kube-apiserver reads none)."""
    return any(coding.strip(b" ") == b"gzip" for coding in accept_encoding.split(b","))


def gzip(chunks: Sequence[bytes]) -> list[bytes]:
    """The chunks as one gzip stream. Those that come again, of a list that is asked for often, are packed once."""
    checksum = size = 0
    packed = [_HEADER]
    for chunk in chunks:
        checksum, size = zlib.crc32(chunk, checksum), size + len(chunk)
        packed.append(_packed(chunk))
    return [*packed, _LAST_BLOCK, struct.pack("<LL", checksum, size & 0xFFFFFFFF)]


def _packed(chunk: bytes) -> bytes:
    return _hot.packed(chunk) if len(chunk) >= REMEMBERED else _deflated(chunk)


def _deflated(chunk: bytes) -> bytes:
    """Blocks that end at a byte and refer to nothing before them, so that they may stand anywhere in a stream."""
    packer = zlib.compressobj(LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    return packer.compress(chunk) + packer.flush(zlib.Z_FULL_FLUSH)


class _Hot:
    """What chunks were packed to, from the second time on that the same one (not an equal one) comes; bounded by bytes.

    Used by several threads: what they do to the dicts are single steps, and a chunk packed twice does no harm.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._seen: dict[int, int] = {}  # ids and sizes; an id that another chunk has got since is no more than a guess
        self._known: dict[int, tuple[bytes, bytes]] = {}  # id -> the chunk, which keeps its id so, and what it gives
        self._size = 0

    def packed(self, chunk: bytes) -> bytes:
        known = self._known.get(id(chunk))
        if known is not None:
            return known[1]
        made = _deflated(chunk)
        if self._seen.pop(id(chunk), None) != len(chunk):
            if len(self._seen) >= _SEEN:
                self._seen.clear()
            self._seen[id(chunk)] = len(chunk)
            return made
        if self._size > self._limit:
            self._known, self._size = {}, 0
        self._known[id(chunk)] = chunk, made
        self._size += len(chunk) + len(made)
        return made


_hot = _Hot(HOT_BYTES)
