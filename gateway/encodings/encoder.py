"""The interface of an encoder: it makes the bytes of an endpoint's objects, lists and watch events.

Each encoder makes one representation (API Concepts, "Alternate representations of resources"). Reads encode entries of
the watch cache: a costly result is remembered on the entry (`Entry.recall`) and used for all clients. Answers to writes
go through `document`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from gateway.encodings.list_meta import ListMeta
from gateway.jsontypes import JsonObject
from gateway.kinds.columns.model import Columns
from gateway.schema.types import Type
from storage.entry import ChangeType, Entry


@dataclass(frozen=True, slots=True)
class EndpointFacts:
    """The facts about an endpoint that encoders need, in the API version that it serves.

    The entries given to an encoder have that version. `empty` returns the JSON that follows the
    metadata of an object without other fields, with the closing brace.
    """

    kind: str
    api_version: str
    head: bytes  # {"kind":"Pod","apiVersion":"v1",
    list_head: bytes  # {"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"
    empty: Callable[[], bytes]
    type: Callable[[], Type]
    columns: Callable[[], Columns]  # of tables
    in_version: Callable[[JsonObject, str], JsonObject]  # an object of the kind in another apiVersion
    custom: bool = False  # of a CRD: list items have a kind, and the list always has a continue token, perhaps ""
    annotated_fields: Callable[[], frozenset[str]] = frozenset  # annotations that stand for fields, not metadata

    @property
    def item_head(self) -> bytes:
        """The bytes of a list's item before its metadata."""
        return self.head if self.custom else b"{"

    def json(self, entry: Entry) -> bytes:
        """An entry as a JSON object. Raises CorruptObject for one that can't be read."""
        return self.head + entry.tail


class AsJson(Protocol):
    """The JSON that an encoder would render, for another process that renders it in the encoder's format."""

    def json_document(self, value: bytes) -> bytes:
        """The JSON for `Encoder.document`."""

    def json_entry(self, entry: Entry) -> bytes:
        """The JSON for `Encoder.entry`."""

    def json_items(self, entries: Sequence[Entry]) -> bytes:
        """The JSON for `Encoder.items`, as an array."""


Fresh = Callable[[Entry], bytes]
"""Encodes an entry as `Encoder.entry` does, without use of the entry's memo."""

Lasting = Callable[[Sequence[Entry], bool], tuple[bytes, float]]
"""As `Encoder.items`, with the time until which the result is valid, in seconds since the epoch."""


class Encoder(Protocol):
    """Makes the bytes of one endpoint's objects in one representation. The methods are synchronous."""

    content_type: bytes
    step: int  # bytes of JSON per call of `items`; between calls other tasks run
    memorable: bool  # whether the result of `items` is valid until the resource changes, or as long as `lasting` says
    streamable: bool  # whether a list's frame can be made before its items

    @property
    def apart(self) -> AsJson | None:
        """The JSON for rendering in another process; None for encoders that never need another process."""

    @property
    def fresh(self) -> Fresh | None:
        """Encodes big objects in a thread; None for encoders that need no thread."""

    @property
    def lasting(self) -> Lasting | None:
        """Encodes items with ages, which become outdated, for tables; None for encoders without ages."""

    def document(self, value: bytes) -> bytes:
        """Encodes an object of the endpoint's kind and version, given as JSON."""

    def entry(self, entry: Entry) -> bytes:
        """Encodes an entry of the cache, as for the answer to a GET."""

    def items(self, entries: Sequence[Entry], first: bool) -> bytes:
        """Encodes some items of a list. Unless they are the `first`, the result begins with the separator, if any."""

    def list(self, meta: ListMeta, groups: Sequence[bytes], count: int) -> Sequence[bytes]:
        """A list, in pieces: its frame around `groups`, the results of `items` for all `count` objects."""

    def event(self, type_: ChangeType, entry: Entry) -> bytes:
        """A watch event."""

    def bookmark(self, revision: int, initial_events_end: bool = False) -> bytes:
        """A BOOKMARK event; with `initial_events_end`, the one that ends the initial events ("Streaming lists")."""

    def error(self, status: bytes) -> bytes:
        """An ERROR event with a Status, which is given as JSON."""

    def opening(self, chunk: bytes) -> bytes:
        """Makes the beginning of a stream from its first events: only there, a table has its columns."""
