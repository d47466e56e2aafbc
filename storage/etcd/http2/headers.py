"""Header blocks of HTTP/2 (HPACK, RFC 7541), without its dynamic table.

This client asks the server for a table of size 0. So a block means the same whenever it comes, and the few blocks that
etcd sends are decoded once.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from storage.etcd.http2.frames import FrameError

# The length in bits of each byte's Huffman code (RFC 7541, appendix B), and of the end's. The code is canonical: codes
# of one length are consecutive, in the order of the bytes.
_LENGTHS = bytes.fromhex(
    "0d171c1c1c1c1c1c1c181e1c1c1e1c1c1c1c1c1c1c1c1e1c1c1c1c1c1c1c1c1c060a0a0c0d06080b0a0a080b08060606"
    "0505050606060606060607080f060c0a0d06070707070707070707070707070707070707070707070807080d130d0e06"
    "0f05060506050606060507070606060506070605050607070707070f0b0e0d1c14161414161616171617171717171817"
    "181816171817171717151617161717181615141616171715171616181516171715151615171617171416161617161617"
    "1a1a1413161716191a1a1a1b1b1a181913151a1b1b1a1b1815151a1a1c1b1b1b14181415161515171616191918181a17"
    "1a1b1a1a1b1b1b1b1b1c1b1b1b1b1b1a1e"
)
_END = 256
_STATIC = 61  # entries of the static table; of their names only :status is of interest
_STATUS = {8: "200", 9: "204", 10: "206", 11: "304", 12: "400", 13: "404", 14: "500"}
_KNOWN = 64  # blocks


def _codes() -> dict[tuple[int, int], int]:
    """The byte of each Huffman code, by the code and its length."""
    found, code, before = dict[tuple[int, int], int](), 0, 0
    for symbol in sorted(range(len(_LENGTHS)), key=lambda symbol: (_LENGTHS[symbol], symbol)):
        code <<= _LENGTHS[symbol] - before
        before = _LENGTHS[symbol]
        found[code, before] = symbol
        code += 1
    return found


_CODES = _codes()


def encoded(fields: Iterable[tuple[bytes, bytes]]) -> bytes:
    """A block with fields, each as a literal that no table takes in."""
    return b"".join(b"\0" + _string(name) + _string(value) for name, value in fields)


@lru_cache(_KNOWN)
def decoded(block: bytes) -> dict[str, str]:
    """The fields of a block by name. Callers must not change the result. Of fields in the static table it has only
    :status.

    Raises FrameError.
    """
    found, at = dict[str, str](), 0
    while at < len(block):
        first = block[at]
        if first & 0x80:  # a field of a table
            index, at = _integer(block, at, 7)
            name, value = ":status" if index in _STATUS else "", _STATUS.get(index, "")
        elif first & 0xE0 == 0x20:  # the size of the dynamic table
            index, at = _integer(block, at, 5)
            if index:
                raise FrameError("a header block changes the size of its table")
            continue
        else:
            index, at = _integer(block, at, 6 if first & 0x40 else 4)
            if index:
                name = ":status" if index in _STATUS else ""
            else:
                name, at = _read_string(block, at)
            value, at = _read_string(block, at)
        if index > _STATIC:
            raise FrameError("a header block refers to a table that it has not")
        if name:
            found[name] = value
    return found


def _string(text: bytes) -> bytes:
    length = len(text)
    if length < 0x7F:
        return bytes((length,)) + text
    parts, length = bytearray((0x7F,)), length - 0x7F
    while length >= 0x80:
        parts.append(length & 0x7F | 0x80)
        length >>= 7
    parts.append(length)
    return bytes(parts) + text


def _integer(block: bytes, at: int, bits: int) -> tuple[int, int]:
    """The integer at `at`, of whose first byte the last `bits` count; and where it ends."""
    most = (1 << bits) - 1
    value, at, shift = block[at] & most, at + 1, 0
    if value < most:
        return value, at
    while at < len(block) and shift <= 28:
        value += (block[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if not block[at - 1] & 0x80:
            return value, at
    raise FrameError("an integer in a header block does not end")


def _read_string(block: bytes, at: int) -> tuple[str, int]:
    if at >= len(block):
        raise FrameError("a header block ends in a field")
    huffman = block[at] & 0x80
    length, at = _integer(block, at, 7)
    raw = block[at : at + length]
    if len(raw) < length:
        raise FrameError("a header block ends in a string")
    return (_unpacked(raw) if huffman else raw).decode("latin-1"), at + length


def _unpacked(raw: bytes) -> bytes:
    """The bytes of a Huffman code. Bits that are left at the end are padding."""
    found, code, length = bytearray(), 0, 0
    for byte in raw:
        for bit in range(7, -1, -1):
            code, length = code << 1 | byte >> bit & 1, length + 1
            symbol = _CODES.get((code, length))
            if symbol == _END or length > 30:
                raise FrameError("a string in a header block has a wrong code")
            if symbol is not None:
                found.append(symbol)
                code = length = 0
    return bytes(found)
