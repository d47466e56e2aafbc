"""Pieces of answers as deflated blocks: what comes again, of a list that is asked for often, is packed once.

The checksum of a gzip stream is put together from those of its pieces, so that the bytes of a piece that is known are
not looked at again (RFC 1952; `crc32_combine` of zlib, which Python's module lacks).
"""

from __future__ import annotations

import threading
import zlib

REMEMBERED = 64 * 1024  # bytes from which a piece is remembered
HOT_BYTES = 64 << 20  # what remembering may take
LEVEL = 1
_SEEN = 1024
_POLYNOMIAL = 0xEDB88320  # of CRC-32, the highest power last
_ONE = 1 << 31


def deflated(chunk: bytes) -> bytes:
    """Blocks that end at a byte and refer to nothing before them, so that they may stand anywhere in a stream."""
    packer = zlib.compressobj(LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    return packer.compress(chunk) + packer.flush(zlib.Z_FULL_FLUSH)


def _times(one: int, other: int) -> int:
    """The product of two polynomials modulo that of CRC-32."""
    product = 0
    while one:
        if one & _ONE:
            product ^= other
        one = one << 1 & 0xFFFFFFFF
        other = other >> 1 ^ (_POLYNOMIAL if other & 1 else 0)
    return product


def _squares() -> list[int]:
    found = [_ONE >> 8]  # x to the 8: a byte further
    while len(found) < 40:
        found.append(_times(found[-1], found[-1]))
    return found


_FURTHER = _squares()  # by how many bytes, in powers of two


def _shift(size: int) -> int:
    """What a checksum is multiplied by when `size` bytes come after what it is of."""
    product, bit = _ONE, 0
    while size >> bit:
        if size >> bit & 1:
            product = _times(_FURTHER[bit], product)
        bit += 1
    return product


class Piece:
    """Bytes, what they are packed to, and their checksum."""

    __slots__ = ("_shift", "checksum", "chunk", "packed")

    def __init__(self, chunk: bytes, checksum: int) -> None:
        self.chunk, self.checksum, self.packed = chunk, checksum, deflated(chunk)
        self._shift = 0

    def after(self, checksum: int) -> int:
        """The checksum of what `checksum` is of and this piece together."""
        if not checksum:
            return self.checksum
        if not self._shift:
            self._shift = _shift(len(self.chunk))
        return _times(checksum, self._shift) ^ self.checksum

    @property
    def size(self) -> int:
        """Bytes of memory."""
        return len(self.chunk) + len(self.packed)


class Pieces:
    """What pieces were packed to, from the second time on that the same or an equal one comes; bounded by bytes.

    Used by several threads.
    """

    def __init__(self, limit: int = HOT_BYTES) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._seen: set[tuple[int, int]] = set()  # checksums and sizes
        self._by_identity: dict[int, Piece] = {}  # each has its chunk, which so keeps its id
        self._by_checksum: dict[tuple[int, int], Piece] = {}
        self._size = 0

    def known(self, chunk: bytes) -> Piece | None:
        """The piece of these very bytes, where it is remembered; without looking at them."""
        return self._by_identity.get(id(chunk))

    def piece(self, chunk: bytes) -> Piece:
        """The piece of some bytes, made if need be."""
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
        """Finds a piece by the bytes that came last: those before them are mostly gone."""
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
        if there is not None:  # packed twice at the same time, or another with the same checksum
            self._by_identity.pop(id(there.chunk), None)
            self._size -= there.size
        self._seen.discard(place)
        self._by_identity[id(piece.chunk)] = self._by_checksum[place] = piece
        self._size += piece.size
