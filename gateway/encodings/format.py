"""A format into which JSON is converted: indented JSON, or YAML."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Format:
    """`whole` renders a document of JSON bytes. A list is rendered item by item, so that a long one holds up nobody:

    `item` renders one (parsed), `frame` gives what comes before and after them from the JSON of a list without items
    and the name of the field that they are in, its last, and `separator` stands between them. `apart` tells that
    rendering keeps Python's lock for so long that much of it is done in another process.
    """

    content_type: bytes
    whole: Callable[[bytes], bytes]
    item: Callable[[Any], bytes]
    frame: Callable[[bytes, bytes], tuple[bytes, bytes]]
    separator: bytes = b""
    apart: bool = False
