"""A format in which JSON is written anew: indented, or as YAML."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Format:
    """`whole` renders a document of JSON bytes. A list is rendered item by item, so that a long one holds up nobody:

    `item` renders one (parsed), `frame` gives what comes before and after them from the JSON of a list without items,
    and `separator` stands between them.
    """

    content_type: bytes
    whole: Callable[[bytes], bytes]
    item: Callable[[Any], bytes]
    frame: Callable[[bytes], tuple[bytes, bytes]]
    separator: bytes = b""
