"""Converts another encoder's JSON for people: tables and PartialObjectMetadata as YAML or indented JSON."""

from __future__ import annotations

from collections.abc import Sequence

from gateway.encodings.encoder import AsJson, Encoder
from gateway.encodings.format import Format
from gateway.encodings.list_meta import ListMeta
from gateway.jsontypes import loads
from storage.entry import ChangeType, Entry


class ReformattedEncoder:
    """An `Encoder` that renders another encoder's documents and lists in a `Format`. Watch events stay unchanged."""

    memorable = False
    streamable = True

    def __init__(self, made: Encoder, format_: Format, step: int, name: bytes) -> None:
        """`step` is the number of JSON bytes that are rendered in a few milliseconds, `name` the field of the items."""
        self._made, self._format, self._name = made, format_, name
        self.step = min(made.step, step)
        self.content_type = format_.content_type
        self._in_process = not format_.apart

    fresh = lasting = None

    @property
    def apart(self) -> AsJson | None:
        return None if self._in_process else self

    def document(self, value: bytes) -> bytes:
        return self._format.whole(self._made.document(value))

    def entry(self, entry: Entry) -> bytes:
        return self._format.whole(self._made.entry(entry))

    def json_document(self, value: bytes) -> bytes:
        """As `AsJson.json_document`."""
        return self._made.document(value)

    def json_entry(self, entry: Entry) -> bytes:
        """As `AsJson.json_entry`."""
        return self._made.entry(entry)

    def json_items(self, entries: Sequence[Entry]) -> bytes:
        """As `AsJson.json_items`."""
        return b"[%b]" % self._made.items(entries, True)

    def items(self, entries: Sequence[Entry], first: bool) -> bytes:
        render, separator = self._format.item, self._format.separator
        made = separator.join([render(item) for item in loads(self.json_items(entries))])
        return made if first else separator + made

    def list(self, meta: ListMeta, groups: Sequence[bytes], count: int) -> Sequence[bytes]:
        empty = b"".join(self._made.list(meta, (), count))
        if not count:
            return (self._format.whole(empty),)
        before, after = self._format.frame(empty, self._name)
        return (before, *groups, after)

    def event(self, type_: ChangeType, entry: Entry) -> bytes:
        return self._made.event(type_, entry)

    def bookmark(self, revision: int, initial_events_end: bool = False) -> bytes:
        return self._made.bookmark(revision, initial_events_end)

    def error(self, status: bytes) -> bytes:
        return self._made.error(status)

    def opening(self, chunk: bytes) -> bytes:
        return self._made.opening(chunk)
