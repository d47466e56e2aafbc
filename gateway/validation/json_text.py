"""Reads JSON in annotations. Errors have Go's words."""

from __future__ import annotations

from typing import Any

from gateway.schema import outside
from gateway.schema.errors import DecodeError
from gateway.schema.go_json import parse

_READ_SLOWLY = 4096  # characters of a text that the slow, exact parser reads


def read_json(text: str, *, exact: bool = False) -> Any:
    """Parses JSON. Raises ValueError in Go's words; for a long text in general words, because Go's would take too long.

    `exact` keeps numbers and repeated members as they are written (see `go_json.parse`), unless the text is long.
    """
    is_short = len(text) <= _READ_SLOWLY
    try:
        return parse(text.encode()) if exact and is_short else outside.read_json(text.encode())
    except DecodeError:
        if is_short:
            raise
        raise ValueError("invalid character looking for beginning of value") from None
