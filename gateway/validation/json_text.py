"""JSON in annotations: what is wrong with it is said in Go's words."""

from __future__ import annotations

from typing import Any

from gateway.jsontypes import loads
from gateway.schema.go_json import parse

_READ_SLOWLY = 4096  # characters of broken JSON that are read to find out what is wrong


def read_json(text: str) -> Any:
    """A value of JSON. Raises ValueError, in Go's words unless the text is long: they cost too much there."""
    try:
        return loads(text)
    except ValueError:
        if len(text) > _READ_SLOWLY:
            raise ValueError("invalid character looking for beginning of value") from None
        return parse(text.encode())
