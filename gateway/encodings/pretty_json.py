"""application/json, indented for people."""

from __future__ import annotations

from typing import Any

from gateway.encodings.format import Format
from gateway.jsontypes import dumps_indented, loads


def indent(body: bytes) -> bytes:
    """Indents JSON by two spaces; without a newline at the end."""
    return dumps_indented(loads(body))


def _item(item: Any) -> bytes:
    """An item, indented for its place in a list. JSON strings escape newlines: each newline belongs to the layout."""
    return b"    " + dumps_indented(item).replace(b"\n", b"\n    ")


def _frame(empty: bytes, _name: bytes) -> tuple[bytes, bytes]:
    before, _, after = indent(empty).rpartition(b"[]")
    return before + b"[\n", b"\n  ]" + after


FORMAT = Format(b"application/json", indent, _item, _frame, b",\n")
