"""A format into which JSON is converted: indented JSON, or YAML."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Format:
    """`whole` renders a JSON document, given as bytes. A list is rendered item by item, to not block the loop.

    `item` renders one parsed item; `separator` comes between items. `frame` returns the bytes before and after the
    items: its arguments are the JSON of the list without items, and the name of the items' field, which is the last.
    `apart`: rendering holds Python's global lock for long, so large documents are rendered in another process.
    """

    content_type: bytes
    whole: Callable[[bytes], bytes]
    item: Callable[[Any], bytes]
    frame: Callable[[bytes, bytes], tuple[bytes, bytes]]
    separator: bytes = b""
    apart: bool = False
