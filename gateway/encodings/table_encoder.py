"""Tables of one endpoint's objects ("Receiving resources as Tables"). A row is made once per object version; its ages
are filled in when it is sent.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from gateway.encodings.encoder import EndpointFacts
from gateway.encodings.json import EVENTS, bookmark_object
from gateway.encodings.list_meta import ListMeta
from gateway.encodings.table import Include, TableFormat, TableRow, row_of
from gateway.jsontypes import dumps, loads
from gateway.schema.descriptions import describe
from storage.entry import ChangeType, Entry

_STEP = 256 * 1024  # bytes of JSON that are made into rows in a few milliseconds
_ROW_SIZE = 900  # bytes of a remembered row, about, besides its text
_NO_HEADERS = b'"columnDefinitions":null'


class TableEncoder:
    """Encodes tables in JSON; an `Encoder`. Only the first event of a watch has the columnDefinitions."""

    content_type = b"application/json"
    memorable = True
    streamable = True
    apart = None
    fresh = None

    def __init__(self, shape: EndpointFacts, version: str, include: Include) -> None:
        self._shape = shape
        self._columns, self._fields = shape.columns(), shape.annotated_fields()
        self.step = max(1, _STEP // self._columns.weight)
        self._format = TableFormat(self._columns, version, include, shape.head, describe)
        form = self._columns.form
        self._form = form if form and form != shape.api_version else ""  # the apiVersion of the cells' fields
        self._whole = include is Include.OBJECT

    def document(self, value: bytes) -> bytes:
        tail = value[len(self._shape.head) :].rstrip(b"\n")
        formed = self._formed(tail)
        return self._object(_revision(tail), row_of(self._columns, formed, self._fields), formed, tail) + b"\n"

    def entry(self, entry: Entry) -> bytes:
        row, formed = self._row(entry)
        return self._object(entry.revision, row, formed, entry.tail) + b"\n"

    def items(self, entries: Sequence[Entry], first: bool) -> bytes:
        return self.lasting(entries, first)[0]

    def lasting(self, entries: Sequence[Entry], first: bool) -> tuple[bytes, float]:
        """As `items`, and the time until which its ages are valid."""
        made = [(self._row(entry), entry.tail) for entry in entries]
        rows = [(row, tail if self._whole else formed) for (row, formed), tail in made]
        joined, until = self._format.rows(self._format.sorted(rows), time.time())
        return (joined if first else b"," + joined), until

    def list(self, meta: ListMeta, groups: Sequence[bytes], count: int) -> Sequence[bytes]:
        head = self._format.list_head(meta)
        return (head + b"[", *groups, b"]}\n") if count else (head + self._columns.no_rows + b"}\n",)

    def event(self, type_: ChangeType, entry: Entry) -> bytes:
        row, formed = self._row(entry)
        made = self._object(entry.revision, row, formed, entry.tail, headers=False)
        return b"%b%b}\n" % (EVENTS[type_], made)

    def bookmark(self, revision: int, initial_events_end: bool = False) -> bytes:
        tail = bookmark_object(self._shape, revision, initial_events_end)[len(self._shape.head) :]
        made = self._object(revision, row_of(self._columns, tail), tail, tail, headers=False)
        return b'{"type":"BOOKMARK","object":%b}\n' % made

    def error(self, status: bytes) -> bytes:
        return b'{"type":"ERROR","object":%b}\n' % status

    def opening(self, chunk: bytes) -> bytes:
        return chunk.replace(_NO_HEADERS, b'"columnDefinitions":' + self._format.definitions, 1)

    def _object(self, revision: int, row: TableRow, formed: bytes, tail: bytes, headers: bool = True) -> bytes:
        return self._format.of_object(revision, row, tail if self._whole else formed, time.time(), headers)

    def _row(self, entry: Entry) -> tuple[TableRow, bytes]:
        """The row of an entry, and the tail from which its metadata is cut."""
        formed = self._formed(entry.tail) if self._form else entry.tail
        found = entry.recall(self._columns)
        if isinstance(found, TableRow):
            return found, formed
        row = row_of(self._columns, formed, self._fields)
        entry.remember(self._columns, row, _ROW_SIZE + row.size)
        return row, formed

    def _formed(self, tail: bytes) -> bytes:
        """The tail converted to the version from which the cells are made."""
        if not self._form:
            return tail
        obj = self._shape.in_version(loads(self._shape.head + tail), self._form)
        return dumps({name: value for name, value in obj.items() if name not in ("kind", "apiVersion")})[1:]


def _revision(tail: bytes) -> int:
    text = loads(b"{" + tail)["metadata"].get("resourceVersion", "")
    return int(text) if text else 0
