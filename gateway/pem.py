"""Blocks of PEM in a text, found as Go's encoding/pem finds them, in time that grows with the text alone (RFC 7468)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_BEGIN, _END, _DASHES = b"-----BEGIN ", b"-----END ", b"-----"
_LONGEST_LINE = 1024  # bytes of a line that begins a block
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
