"""Another encoder's JSON written anew as a whole, for people: tables and metadata in YAML or indented."""

from __future__ import annotations

from collections.abc import Sequence

from gateway.encodings.encoder import Encoder
from gateway.encodings.format import Format
from gateway.encodings.list_meta import ListMeta
from storage.entry import ChangeType, Entry


class WholeEncoder:
    """Watch events stay as they are."""

    memorable = False

    def __init__(self, made: Encoder, format_: Format) -> None:
        self._made, self._format = made, format_
        self.step = made.step
        self.content_type = format_.content_type

    def document(self, value: bytes) -> bytes:
        return self._format.whole(self._made.document(value))

    def entry(self, entry: Entry) -> bytes:
        return self._format.whole(self._made.entry(entry))

    def items(self, entries: Sequence[Entry], first: bool) -> bytes:
        return self._made.items(entries, first)

    def list(self, meta: ListMeta, groups: Sequence[bytes], count: int) -> Sequence[bytes]:
        return (self._format.whole(b"".join(self._made.list(meta, groups, count))),)

    def event(self, type_: ChangeType, entry: Entry) -> bytes:
        return self._made.event(type_, entry)

    def bookmark(self, revision: int, initial_events_end: bool = False) -> bytes:
        return self._made.bookmark(revision, initial_events_end)

    def error(self, status: bytes) -> bytes:
        return self._made.error(status)

    def opening(self, chunk: bytes) -> bytes:
        return self._made.opening(chunk)
