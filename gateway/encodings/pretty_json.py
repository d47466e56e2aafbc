"""application/json, indented for people."""

from __future__ import annotations

from typing import Any

import orjson

from gateway.encodings.format import Format
from gateway.jsontypes import loads


def indent(body: bytes) -> bytes:
    """The same JSON for people: indented by two spaces, without a newline at its end."""
    return orjson.dumps(loads(body), option=orjson.OPT_INDENT_2)


def _item(item: Any) -> bytes:
    """No string contains a newline as such, so that every newline is one of the layout."""
    return b"    " + orjson.dumps(item, option=orjson.OPT_INDENT_2).replace(b"\n", b"\n    ")


def _frame(empty: bytes) -> tuple[bytes, bytes]:
    before, _, after = indent(empty).rpartition(b"[]")
    return before + b"[\n", b"\n  ]" + after


FORMAT = Format(b"application/json", indent, _item, _frame, b",\n")
