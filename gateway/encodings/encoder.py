"""What an encoder does: the bytes of objects, lists and watch events of one endpoint in one representation.

API Concepts, "Alternate representations of resources". Reads go through entries of the watch cache, so that whatever
is costly to encode is remembered on the entry (`Entry.recall`) and made once for all who ask; answers to writes
go through `document`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from gateway.encodings.list_meta import ListMeta
from gateway.jsontypes import JsonObject
from gateway.kinds.columns.model import Columns
from gateway.schema.types import Type
from storage.entry import ChangeType, Entry


@dataclass(frozen=True, slots=True)
class Shape:
    """What encoders know of an endpoint's objects, in the version in which it serves them.

    Entries that they are given are of that version. `empty` is what an object has after its metadata when nothing is
    set, with the closing brace.
    """

    kind: str
    api_version: str
    head: bytes  # {"kind":"Pod","apiVersion":"v1",
    list_head: bytes  # {"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"
    empty: Callable[[], bytes]
    type: Callable[[], Type]
    columns: Callable[[], Columns]  # of tables
    in_version: Callable[[JsonObject, str], JsonObject]  # an object of the kind in another apiVersion
    custom: bool = False  # of a CRD: a list's items have their kind, and its metadata a continue token, "" too
    annotated_fields: Callable[[], frozenset[str]] = frozenset  # annotations that are no metadata

    @property
    def item_head(self) -> bytes:
        """What a list's items begin with, before their metadata."""
        return self.head if self.custom else b"{"

    def json(self, entry: Entry) -> bytes:
        """An entry as a JSON object. Raises CorruptObject for one that can't be read."""
        return self.head + entry.tail


class AsJson(Protocol):
    """The JSON of what an encoder makes, for another process that brings it into the encoder's format."""

    def json_document(self, value: bytes) -> bytes:
        """What `Encoder.document` is made of."""

    def json_entry(self, entry: Entry) -> bytes:
        """What `Encoder.entry` is made of."""

    def json_items(self, entries: Sequence[Entry]) -> bytes:
        """What `Encoder.items` is made of, as an array."""


class Encoder(Protocol):
    """The bytes of one endpoint's objects in one representation. Everything is synchronous and raises nothing."""

    content_type: bytes
    step: int  # bytes of JSON that `items` works on at once, before others get their turn
    memorable: bool  # whether what `items` made stays right until the resource changes, or as long as `lasting` says
    streamable: bool  # whether a list's frame can be made before its items are

    @property
    def apart(self) -> AsJson | None:
        """The JSON that another process brings into this format; None where no other process does."""

    def document(self, value: bytes) -> bytes:
        """An object of the endpoint's kind and version, given as JSON."""

    def entry(self, entry: Entry) -> bytes:
        """An object of the cache, as GET answers it."""

    def items(self, entries: Sequence[Entry], first: bool) -> bytes:
        """Some of a list's items; what separates them from those before goes with them unless they are the first."""

    def list(self, meta: ListMeta, groups: Sequence[bytes], count: int) -> Sequence[bytes]:
        """A list: its frame around what `items` made of `count` objects."""

    def event(self, type_: ChangeType, entry: Entry) -> bytes:
        """A watch event."""

    def bookmark(self, revision: int, initial_events_end: bool = False) -> bytes:
        """A BOOKMARK event; annotated where it ends the initial events ("Streaming lists")."""

    def error(self, status: bytes) -> bytes:
        """An ERROR event of a Status, given as JSON."""

    def opening(self, chunk: bytes) -> bytes:
        """The first events of a stream, where something is only told with the first."""


@runtime_checkable
class Converting(Protocol):
    """An encoder whose work on a big object is better done in a thread."""

    def fresh(self, entry: Entry) -> bytes:
        """An object of the cache as GET answers it, without a look at what is remembered."""


@runtime_checkable
class Ageing(Protocol):
    """An encoder of what tells the time, so that it has to be made anew now and then."""

    def lasting(self, entries: Sequence[Entry], first: bool) -> tuple[bytes, float]:
        """As `items`, and the time, in seconds since 1970, until which it stays right."""
