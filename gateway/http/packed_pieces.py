"""A cache of compressed pieces of answers, as deflate blocks: the pieces of a popular list are compressed once.

The checksum of a gzip stream is computed from those of its pieces, so that a cached piece is not read again (RFC 1952;
zlib's `crc32_combine`, which Python's zlib does not offer).
"""

from __future__ import annotations

import threading
import zlib

REMEMBERED = 64 * 1024  # bytes; smaller pieces are not cached
HOT_BYTES = 64 << 20  # memory of the cache
LEVEL = 1
_SEEN = 1024
_POLYNOMIAL = 0xEDB88320  # of CRC-32, the highest power last
_ONE = 1 << 31


def deflated(chunk: bytes) -> bytes:
    """Deflate blocks of a chunk. They end at a byte boundary and refer to nothing before them, so that they can stand
    anywhere in a stream.
    """
    packer = zlib.compressobj(LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    return packer.compress(chunk) + packer.flush(zlib.Z_FULL_FLUSH)


def _times(one: int, other: int) -> int:
    """The product of two polynomials, modulo the polynomial of CRC-32."""
    product = 0
    while one:
        if one & _ONE:
            product ^= other
        one = one << 1 & 0xFFFFFFFF
        other = other >> 1 ^ (_POLYNOMIAL if other & 1 else 0)
    return product


def _squares() -> list[int]:
    found = [_ONE >> 8]  # x to the power of 8, which moves a checksum by one byte
    while len(found) < 40:
        found.append(_times(found[-1], found[-1]))
    return found


_FURTHER = _squares()  # item i moves a checksum by 2 to the power of i bytes


def _shift(size: int) -> int:
    """The factor for a checksum if `size` more bytes follow its data."""
    product, bit = _ONE, 0
    while size >> bit:
        if size >> bit & 1:
            product = _times(_FURTHER[bit], product)
        bit += 1
    return product


class Piece:
    """A chunk, its deflate blocks (`packed`), and its CRC-32."""

    __slots__ = ("_shift", "checksum", "chunk", "packed")

    def __init__(self, chunk: bytes, checksum: int) -> None:
        self.chunk, self.checksum, self.packed = chunk, checksum, deflated(chunk)
        self._shift = 0

    def after(self, checksum: int) -> int:
        """The checksum of data with the checksum `checksum`, followed by this piece."""
        if not checksum:
            return self.checksum
        if not self._shift:
            self._shift = _shift(len(self.chunk))
        return _times(checksum, self._shift) ^ self.checksum

    @property
    def size(self) -> int:
        """The memory of the piece, in bytes."""
        return len(self.chunk) + len(self.packed)


class Pieces:
    """The cache. A chunk is cached when it comes the second time, the same object or an equal one. The cache is emptied
    when it exceeds `limit` bytes. Several threads use it.
    """

    def __init__(self, limit: int = HOT_BYTES) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._seen: set[tuple[int, int]] = set()  # checksums and sizes
        self._by_identity: dict[int, Piece] = {}  # by id(); the piece holds the chunk, so that no other gets that id
        self._by_checksum: dict[tuple[int, int], Piece] = {}
        self._size = 0

    def known(self, chunk: bytes) -> Piece | None:
        """The cached piece of this very object, found without reading the bytes; None without one."""
        return self._by_identity.get(id(chunk))

    def piece(self, chunk: bytes) -> Piece:
        """The piece of a chunk; compressed now, unless it is cached."""
        known = self.known(chunk)
        if known is not None:
            return known
        checksum = zlib.crc32(chunk)
        place = checksum, len(chunk)
        equal = self._by_checksum.get(place)
        if equal is not None and equal.chunk == chunk:
            with self._lock:
                self._move(equal, chunk)
            return equal
        made = Piece(chunk, checksum)
        with self._lock:
            self._remember(made, place)
        return made

    def _move(self, piece: Piece, chunk: bytes) -> None:
        """Makes a piece known under a newer, equal bytes object: the old object has usually been freed elsewhere."""
        if self._by_identity.pop(id(piece.chunk), None) is piece:
            piece.chunk = chunk
            self._by_identity[id(chunk)] = piece

    def _remember(self, piece: Piece, place: tuple[int, int]) -> None:
        if len(piece.chunk) < REMEMBERED:
            return
        if place not in self._seen:
            if len(self._seen) >= _SEEN:
                self._seen.clear()
            self._seen.add(place)
            return
        if self._size > self._limit:
            self._by_identity, self._by_checksum, self._size = {}, {}, 0
        there = self._by_checksum.get(place)
        if there is not None:  # two threads packed it at the same time, or the checksums of two chunks collide
            self._by_identity.pop(id(there.chunk), None)
            self._size -= there.size
        self._seen.discard(place)
        self._by_identity[id(piece.chunk)] = self._by_checksum[place] = piece
        self._size += piece.size
