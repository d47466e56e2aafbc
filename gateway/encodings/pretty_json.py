"""application/json, indented for people."""

from __future__ import annotations

from typing import Any

from gateway.encodings.format import Format
from gateway.jsontypes import dumps_indented, loads


def indent(body: bytes) -> bytes:
    """JSON for people: indented by two spaces, without a newline at its end."""
    return dumps_indented(loads(body))


def _item(item: Any) -> bytes:
    """No string contains a newline as such, so that every newline is one of the layout."""
    return b"    " + dumps_indented(item).replace(b"\n", b"\n    ")


def _frame(empty: bytes, _name: bytes) -> tuple[bytes, bytes]:
    before, _, after = indent(empty).rpartition(b"[]")
    return before + b"[\n", b"\n  ]" + after


FORMAT = Format(b"application/json", indent, _item, _frame, b",\n")
