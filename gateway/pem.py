"""Blocks of PEM in a text, found as Go's encoding/pem finds them, in time that grows with the text alone (RFC 7468)."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from typing import NamedTuple

_BEGIN, _END, _DASHES = b"-----BEGIN ", b"-----END ", b"-----"
_LONGEST_LINE = 1024  # bytes of a line that begins a block
_header = re.compile(rb"[^\n:]+:[^\n]*\n").match
_rest_of_line = re.compile(rb"[ \t\r]*+(?:\n|\Z)").match


class Block(NamedTuple):
    """A block: its type ("CERTIFICATE"), what is between its first and last line, and all of it."""

    kind: bytes
    body: bytes
    whole: bytes


def blocks(data: bytes) -> Iterator[Block]:
    """The blocks of a text in their order; what is none is skipped. Nothing is looked for twice in the same place."""
    at = line = end = 0
    while (start := data.find(_BEGIN, at)) >= 0:
        if line <= start:
            line = data.find(b"\n", start)
        if end <= line:
            end = data.find(_END, line)
        if line < 0 or end < 0:
            return
        at = start + len(_BEGIN)
        first = data[at:line].rstrip(b" \t\r") if line - at <= _LONGEST_LINE else b""
        if not first.endswith(_DASHES):
            continue
        last = _END + first
        after = end + len(last)
        if data.startswith(last, end) and _rest_of_line(data, after):
            yield Block(first[: -len(_DASHES)], data[line + 1 : end], data[start:after])
            at = after


def decoded_blocks(data: bytes) -> Iterator[tuple[str, bool, bytes]]:
    """The blocks' types, whether they have headers, and their contents; what is no block is skipped."""
    for kind, body, _ in blocks(data):
        at = 0
        while header := _header(body, at):
            at = header.end()
        try:
            content = base64.b64decode(b"".join(body[at:].split()), validate=True)
        except binascii.Error:
            continue
        yield kind.decode("utf-8", "replace"), at > 0, content
