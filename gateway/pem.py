"""Finds the PEM blocks of a text as Go's encoding/pem does, in linear time (RFC 7468).

All PEM from outside is read here. With two readers that differ, a text could hold one certificate for the approver, and
another one for the signer.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from typing import NamedTuple

_BEGIN, _END, _DASHES = b"-----BEGIN ", b"\n-----END ", b"-----"
_MARKS = 4  # of dashes in a block: two in each of its two lines
_IGNORED = b" \t\r\n"  # between the characters of base64
_rest_of_line = re.compile(rb"[ \t]*+(?:\r?\n|\Z)").match


class PemBlock(NamedTuple):
    """A block: its type ("CERTIFICATE"), whether it has headers, its content decoded, and all of its text."""

    kind: str
    has_headers: bool
    content: bytes
    whole: bytes


def blocks(data: bytes) -> Iterator[PemBlock]:
    """Yields the PEM blocks of `data`, first to last. Text between blocks, and blocks that are not whole, are skipped.

    No byte is searched twice.
    """
    at = 0
    while (end := data.find(_END, at)) >= 0:
        last = end + len(_END)  # the position of the type in the END line
        begin = data.rfind(_BEGIN, at, end)
        is_line = begin == at or (begin > at and data[begin - 1] == 0x0A)
        at = last
        if not is_line:
            continue
        kind, body = _line(data, begin + len(_BEGIN))
        if not kind.endswith(_DASHES):
            continue
        start = _behind_headers(data, body)
        if start > last or start == len(data):
            return
        after = last + len(kind)
        if (start > body and end < start) or not data.startswith(kind, last) or not _rest_of_line(data, after):
            continue
        try:
            content = base64.b64decode(data[start:end].translate(None, _IGNORED), validate=True)
        except binascii.Error:
            continue
        named = kind[: -len(_DASHES)].decode("utf-8", "replace")
        yield PemBlock(named, start > body, content, data[begin:after])
        at = _line(data, last - 1)[1]


def certificates_in(data: bytes) -> bytes:
    """The certificates of a text, which may be published: the same bytes if all else is text between certificates.

    A part of another block, such as a key that is half written, is left out. Empty without a certificate.
    """
    found = [block.whole for block in blocks(data) if block.kind == "CERTIFICATE"]
    if found and data.count(_DASHES) == _MARKS * len(found):
        return data
    return b"".join(whole + b"\n" for whole in found)


def _line(data: bytes, at: int) -> tuple[bytes, int]:
    """A line without the white space at its end, and where the next one begins."""
    end = data.find(b"\n", at)
    if end < 0:
        return data[at:].rstrip(b" \t"), len(data)
    return data[at:end].removesuffix(b"\r").rstrip(b" \t"), end + 1


def _behind_headers(data: bytes, at: int) -> int:
    """The position after the headers, which are the lines with a colon."""
    while at < len(data):
        line, following = _line(data, at)
        if b":" not in line:
            break
        at = following
    return at
