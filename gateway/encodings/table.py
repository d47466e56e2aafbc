"""Tables of meta.k8s.io, v1 and v1beta1 ("Receiving resources as Tables").

A row is made once per object version (`row_of`, the only function that parses) and can be kept: it has the cells as
JSON, with gaps for ages, and the place of the metadata. The text with the ages filled in is kept too, until the first
age changes. So a list of known rows only compares one time per row and joins bytes. The joined bytes are valid until
the time that is returned with them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import orjson

from gateway.encodings.list_meta import ListMeta
from gateway.encodings.partial_metadata import HEADS, Metadata, type_meta
from gateway.jsontypes import JsonObject, dumps, json_float, loads
from gateway.kinds.columns.model import Cell, Columns, Elapsed
from gateway.memo import Recent

VERSIONS = ("v1", "v1beta1")
FOREVER = float("inf")
Describe = Callable[[str, str], str]  # type, field -> the field's description in the API
_INITIAL_EVENTS_END = "k8s.io/initial-events-end"


class Include(Enum):
    """What a row has besides its cells (the query parameter includeObject)."""

    NONE = "None"
    METADATA = "Metadata"
    OBJECT = "Object"


class TableRow:
    """The row of one object version. `text` is valid until `until` (seconds since the epoch); `now_text` renews it."""

    __slots__ = ("_ages", "_pieces", "ends_initial", "metadata", "order", "text", "until")

    def __init__(self, columns: Columns, tail: bytes, obj: JsonObject, fields: frozenset[str] = frozenset()) -> None:
        self.metadata = Metadata.within(tail, obj, fields)
        self.order: Any = columns.order(obj) if columns.order else None
        annotations = obj["metadata"].get("annotations")
        self.ends_initial = bool(annotations) and annotations.get(_INITIAL_EVENTS_END) == "true"
        completed = columns.conditions(obj) if columns.conditions else None
        self._pieces, self._ages = _pieces(columns.cells(obj), completed)
        self.text, self.until = (self._pieces[0], FOREVER) if not self._ages else (b"", 0.0)

    @property
    def size(self) -> int:
        """The size of the text in bytes, without the ages."""
        return sum(map(len, self._pieces))

    def now_text(self, now: float) -> bytes:
        """The row's JSON up to its object: `{"cells":[…]`, the conditions, and `"object":`. `now`: epoch seconds."""
        if now < self.until:
            return self.text
        out, until = [self._pieces[0]], FOREVER
        for elapsed, piece in zip(self._ages, self._pieces[1:], strict=True):
            text, ends = elapsed.text_until(now)
            out += (text.encode(), piece)
            until = min(until, ends)
        self.text, self.until = b"".join(out), until
        return self.text


def row_of(columns: Columns, tail: bytes, fields: frozenset[str] = frozenset()) -> TableRow:
    """Makes the row of an object, given as tail (`"metadata":{…},…}`) in the version that the columns show.

    `fields` are annotations that stand for fields; they are not part of the metadata.
    """
    return TableRow(columns, tail, loads(b"{" + tail), fields)


def _pieces(cells: list[Cell], completed: tuple[str, str] | None) -> tuple[list[bytes], list[Elapsed]]:
    """A row's JSON in pieces; the ages belong between them."""
    plain: list[Any] = cells
    if float in map(type, cells):
        plain = [orjson.Fragment(json_float(cell)) if isinstance(cell, float) else cell for cell in cells]
    pieces, ages, start, text = list[bytes](), list[Elapsed](), 0, b'{"cells":['
    for i, cell in enumerate(cells):
        if isinstance(cell, Elapsed):
            before = dumps(plain[start:i])[1:-1] + b',"' if i > start else b'"'
            pieces.append(text + before)
            ages.append(cell)
            start, text = i + 1, b'",'
    if start == len(cells):
        text = text.removesuffix(b",")
    pieces.append(text + dumps(plain[start:])[1:-1] + (_condition(*completed) if completed else b'],"object":'))
    return pieces, ages


_conditions: Recent[tuple[str, str], bytes] = Recent(16, 256 << 10)


def _condition(reason: str, message: str) -> bytes:
    found = _conditions.find((reason, message))
    if found is None:
        condition = {"type": "Completed", "status": "True", "reason": reason, "message": message}
        found = b'],"conditions":%b,"object":' % dumps([condition])
        _conditions.keep((reason, message), found, 3 * len(found))
    return found


@dataclass(frozen=True, slots=True)
class TableFormat:
    """Writes the objects of one resource as Tables, in bytes; `now` is in seconds since the epoch."""

    columns: Columns
    version: str = "v1"
    include: Include = Include.METADATA
    head: bytes = b""  # of the objects, such as {"kind":"Pod","apiVersion":"v1",
    describe: Describe | None = None
    _start: bytes = field(init=False)
    _definitions: bytes = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_start", type_meta("Table", self.version) + b'"metadata":')
        object.__setattr__(self, "_definitions", dumps(_definitions(self.columns, self.describe)))

    @property
    def definitions(self) -> bytes:
        """The columnDefinitions as JSON."""
        return self._definitions

    def item(self, row: TableRow, tail: bytes, now: float) -> bytes:
        """One row. `tail` is the tail that the row was made from; with Include.OBJECT, that in the served version.

        The bookmark that ends the initial events of a watch always has its metadata, with the annotation.
        """
        text = row.now_text(now)
        match self.include:
            case Include.OBJECT:
                return b"%b%b%b}" % (text, self.head, tail)
            case Include.NONE if not row.ends_initial:
                return text + b"null}"
        return b"%b%b%b}}" % (text, HEADS[self.version], row.metadata.cut(tail))

    def list_head(self, meta: ListMeta, headers: bool = True) -> bytes:
        """The bytes of a table before its rows, without the bracket."""
        definitions = self._definitions if headers else b"null"
        return b'%b%b,"columnDefinitions":%b,"rows":' % (self._start, meta.encode(), definitions)

    def rows(self, rows: Iterable[tuple[TableRow, bytes]], now: float) -> tuple[bytes, float]:
        """Rows with commas between them, and the time until which they are valid."""
        if self.include is Include.METADATA:
            return self._rows_with_metadata(rows, now)
        out, until = list[bytes](), FOREVER
        for row, tail in rows:
            out.append(self.item(row, tail, now))
            if row.until < until:
                until = row.until
        return b",".join(out), until

    def _rows_with_metadata(self, rows: Iterable[tuple[TableRow, bytes]], now: float) -> tuple[bytes, float]:
        head, out, until = HEADS[self.version], list[bytes](), FOREVER
        for row, tail in rows:
            end, own = row.metadata
            out += (row.text if now < row.until else row.now_text(now), head, own or tail[:end], b"}},")
            if row.until < until:
                until = row.until
        return b"".join(out)[:-1], until

    def of_list(self, meta: ListMeta, rows: Iterable[tuple[TableRow, bytes]], now: float) -> tuple[bytes, float]:
        """A whole list in one piece, and the time until which it is valid."""
        joined, until = self.rows(self.sorted(rows), now)
        body = b"[" + joined + b"]" if joined else self.columns.no_rows
        return self.list_head(meta) + body + b"}\n", until

    def of_object(self, revision: int, row: TableRow, tail: bytes, now: float, headers: bool = True) -> bytes:
        """One object as a table, without a newline: for an answer or an event. `headers` adds the columnDefinitions."""
        return self.list_head(ListMeta(revision), headers) + b"[" + self.item(row, tail, now) + b"]}"

    def sorted(self, rows: Iterable[tuple[TableRow, bytes]]) -> Iterable[tuple[TableRow, bytes]]:
        """The rows of a list in the order of the kind, if it has one; else unchanged."""
        return sorted(rows, key=lambda pair: pair[0].order) if self.columns.order else rows


def _definitions(columns: Columns, describe: Describe | None) -> list[JsonObject]:
    found = list[JsonObject]()
    for column in columns.definitions:
        description = column.description
        if describe is not None and column.field:
            owner, _, name = column.field.rpartition(".")
            description = describe(f"io.k8s.{owner}", name)
        shown = {"name": column.name, "type": column.type, "format": column.format}
        found.append(shown | {"description": description, "priority": column.priority})
    return found
