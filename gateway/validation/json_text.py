"""JSON in annotations: what is wrong with it is said in Go's words."""

from __future__ import annotations

from typing import Any

from gateway.schema import outside
from gateway.schema.errors import DecodeError
from gateway.schema.go_json import parse

_READ_SLOWLY = 4096  # characters of broken JSON that are read to find out what is wrong


def read_json(text: str, *, exact: bool = False) -> Any:
    """A value of JSON. Raises ValueError, in Go's words unless the text is long: they cost too much there.

    `exact`: numbers and repeated members as they are written, unless the text is long.
    """
    is_short = len(text) <= _READ_SLOWLY
    try:
        return parse(text.encode()) if exact and is_short else outside.read_json(text.encode())
    except DecodeError:
        if is_short:
            raise
        raise ValueError("invalid character looking for beginning of value") from None
