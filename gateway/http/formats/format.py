"""What a media type is made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple


class ItemFormat(NamedTuple):
    """How a list is rendered item by item, so that a long one holds up nobody."""

    render: Callable[[Any], bytes]  # one item, parsed
    frame: Callable[[bytes], tuple[bytes, bytes]]  # the JSON of a list without items -> what comes before and after
    separator: bytes = b""


@dataclass(frozen=True, slots=True)
class Format:
    """A media type. `encode` and `encode_pretty` turn an answer's compact JSON into it; None keeps the bytes.

    `items` does the same for lists. `stream_type` is the content type of a watch in it; None for a format that cannot
    be streamed.
    """

    media_type: str
    encode: Callable[[bytes], bytes] | None = None
    encode_pretty: Callable[[bytes], bytes] | None = None
    stream_type: bytes | None = None
    items: ItemFormat | None = None
