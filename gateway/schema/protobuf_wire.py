"""Reads the wire format of protobuf (Protocol Buffers, "Encoding"). Errors have Go's texts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gateway.time_limits import look

VARINT, FIXED64, BYTES, _GROUP, _END_GROUP, _FIXED32 = 0, 1, 2, 3, 4, 5


class ProtobufError(ValueError):
    """Bytes are not a valid message; the text is Go's."""


_SHORT = 512  # bytes of a message; reading them takes less than a millisecond
_SOME = 256  # fields; reading them takes less than a millisecond


def wire_fields(data: bytes, message: str = "") -> Iterator[tuple[int, int, Any]]:
    """Yields number, wire type and value of each field: the value is an int for varints, else bytes; b"" for a group.

    Raises ProtobufError. Raises TakesLong and GivenUp as `look` does: a message may have a million fields of two bytes.
    """
    position, end, seen = 0, len(data), 0
    if end > _SHORT:
        look()
    while position < end:
        seen += 1
        if not seen % _SOME:
            look()
        tag, position = varint(data, position)
        number, wire = tag >> 3, tag & 7
        if wire == _END_GROUP:
            raise ProtobufError(f"proto: {message}: wiretype end group for non-group")
        if not 0 < number < 1 << 31:
            raise ProtobufError(f"proto: {message}: illegal tag {number} (wire type {wire})")
        if wire == VARINT:
            value, position = varint(data, position)
            yield number, wire, value
            continue
        start = position
        position = _behind_group(data, position) if wire == _GROUP else _behind(data, position, wire)
        if wire == BYTES:
            start = position - size_at(data, start)[0]
        yield number, wire, b"" if wire == _GROUP else data[start:position]


def size_at(data: bytes, position: int) -> tuple[int, int]:
    """Reads a length. Returns it, and the position after its bytes. Raises ProtobufError."""
    size, position = varint(data, position)
    if size >> 63:
        raise ProtobufError("proto: negative length found during unmarshaling")
    return size, position


def _behind(data: bytes, position: int, wire: int) -> int:
    """The position after the value that begins at `position`. Raises ProtobufError."""
    if wire == VARINT:
        return varint(data, position)[1]
    if wire == BYTES:
        size, position = size_at(data, position)
    elif wire in (FIXED64, _FIXED32):
        size = 8 if wire == FIXED64 else 4
    else:
        raise ProtobufError(f"proto: illegal wireType {wire}")
    if position + size > len(data):
        raise ProtobufError("unexpected EOF")
    return position + size


def _behind_group(data: bytes, position: int) -> int:
    """The position after the group whose content begins at `position`; groups may be nested. Raises ProtobufError."""
    depth, seen = 1, 0
    while depth:
        seen += 1
        if not seen % _SOME:
            look()
        tag, position = varint(data, position)
        wire = tag & 7
        if wire == _GROUP:
            depth += 1
        elif wire == _END_GROUP:
            depth -= 1
        else:
            position = _behind(data, position, wire)
    return position


def varints(data: bytes) -> Iterator[int]:
    position = 0
    while position < len(data):
        value, position = varint(data, position)
        yield value


def varint(data: bytes, position: int) -> tuple[int, int]:
    result = shift = 0
    while True:
        if position >= len(data):
            raise ProtobufError("unexpected EOF")
        byte = data[position]
        position += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result & 0xFFFFFFFFFFFFFFFF, position
        shift += 7
        if shift >= 64:
            raise ProtobufError("proto: integer overflow")
