"""Positions in arrays, as the paths of a JSON patch name them, with the Go library's messages."""

from __future__ import annotations

import re

from gateway.schema.integers import clamped

INDEX = re.compile(r"[+-]?[0-9]+", re.ASCII)
_WRONG_INDEX = "invalid index referenced"


class BadIndex(Exception):
    """A part of a path is not a position in an array; the message says why."""


def index_of(part: str, size: int) -> int:
    """The position that `part` means in an array of `size` elements. Raises BadIndex if it is out of range."""
    if not INDEX.fullmatch(part):
        raise BadIndex(f'strconv.Atoi: parsing "{part}": invalid syntax')
    index = clamped(part)
    at = index + size if index < 0 else index
    if not 0 <= at < size:
        raise BadIndex(f"Unable to access invalid index: {index}: {_WRONG_INDEX}")
    return at
