"""Encodes objects and lists in a format for people: parses their JSON and writes it indented or as YAML."""

from __future__ import annotations

from collections.abc import Sequence

from gateway.encodings.encoder import AsJson, EndpointFacts
from gateway.encodings.format import Format
from gateway.encodings.json import JsonEncoder, list_head
from gateway.encodings.list_meta import ListMeta
from gateway.jsontypes import loads
from storage.entry import Entry


class FormattedEncoder(JsonEncoder):
    """An `Encoder` that renders objects and lists in a `Format`. Watch events stay compact JSON, one line each."""

    memorable = False

    def __init__(self, shape: EndpointFacts, format_: Format, step: int) -> None:
        """`step` is the number of JSON bytes that are rendered in a few milliseconds."""
        super().__init__(shape)
        self._format, self.step = format_, step
        self.content_type = format_.content_type
        self._in_process = not format_.apart

    fresh = lasting = None

    @property
    def apart(self) -> AsJson | None:
        return None if self._in_process else self

    def document(self, value: bytes) -> bytes:
        return self._format.whole(value)

    def entry(self, entry: Entry) -> bytes:
        return self._format.whole(self.shape.json(entry))

    def json_document(self, value: bytes) -> bytes:
        """As `AsJson.json_document`."""
        return value

    def json_entry(self, entry: Entry) -> bytes:
        """As `AsJson.json_entry`."""
        return self.shape.json(entry)

    def json_items(self, entries: Sequence[Entry]) -> bytes:
        """As `AsJson.json_items`."""
        return b"[{" + b",{".join([entry.tail for entry in entries]) + b"]"

    def items(self, entries: Sequence[Entry], first: bool) -> bytes:
        render, separator = self._format.item, self._format.separator
        made = separator.join([render(loads(self.shape.item_head + entry.tail)) for entry in entries])
        return made if first else separator + made

    def list(self, meta: ListMeta, groups: Sequence[bytes], count: int) -> Sequence[bytes]:
        empty = list_head(self.shape, meta) + b"]}\n"
        if not count:
            return (self._format.whole(empty),)
        before, after = self._format.frame(empty, b"items")
        return (before, *groups, after)
