"""Objects, lists and watch events of one endpoint in CBOR, and as PartialObjectMetadata in CBOR.

The content is encoded once per version of an object.
"""

from __future__ import annotations

from collections.abc import Sequence

from gateway.encodings import cbor
from gateway.encodings.encoder import EndpointFacts
from gateway.encodings.json import bookmark_object
from gateway.encodings.list_meta import ListMeta
from gateway.encodings.partial_encoder import PartialEncoder
from gateway.jsontypes import loads
from storage.entry import ChangeType, Entry

_STEP = 128 * 1024  # bytes of JSON that are encoded in a few milliseconds
_PARTIAL = "PartialObjectMetadata"


class CborEncoder:
    """Encodes whole objects in CBOR; an `Encoder`."""

    content_type = cbor.MEDIA_TYPE.encode()
    step = _STEP
    memorable = True
    streamable = True
    apart = None
    lasting = None

    def __init__(self, shape: EndpointFacts) -> None:
        self._shape = shape
        self._api_version, self._list_kind = shape.api_version, str(loads(shape.list_head + b'"}}')["kind"])
        self._key: object = (cbor.MEDIA_TYPE, shape.head)
        self._headless = not shape.custom  # a list's items have no kind of their own

    def document(self, value: bytes) -> bytes:
        return cbor.answer(self._content(value))

    def entry(self, entry: Entry) -> bytes:
        return cbor.answer(self._remembered(entry))

    def fresh(self, entry: Entry) -> bytes:
        """As `entry`, without the memo, which only the event loop's thread may use."""
        return cbor.answer(self._content(self._json(entry)))

    def items(self, entries: Sequence[Entry], first: bool) -> bytes:
        if self._headless:
            return b"".join([self._item(entry) for entry in entries])
        return b"".join([self._remembered(entry) for entry in entries])

    def list(self, meta: ListMeta, groups: Sequence[bytes], count: int) -> Sequence[bytes]:
        metadata = meta.as_json(shard=not self._shape.custom)
        if self._shape.custom:
            metadata.setdefault("continue", "")
        return (cbor.list_head(self._api_version, self._list_kind, metadata, count), *groups, b"")

    def event(self, type_: ChangeType, entry: Entry) -> bytes:
        return cbor.watch_event(type_.value.decode(), self.entry(entry))

    def bookmark(self, revision: int, initial_events_end: bool = False) -> bytes:
        return cbor.watch_event("BOOKMARK", self.document(bookmark_object(self._shape, revision, initial_events_end)))

    def error(self, status: bytes) -> bytes:
        return cbor.watch_event("ERROR", plain(status))

    def opening(self, chunk: bytes) -> bytes:
        return chunk

    def _json(self, entry: Entry) -> bytes:
        return self._shape.json(entry)

    def _content(self, value: bytes) -> bytes:
        return cbor.content(loads(value), None if self._shape.custom else self._shape.type())

    def _item(self, entry: Entry) -> bytes:
        key = (self._key, "item")
        found = entry.recall(key)
        if isinstance(found, bytes):
            return found
        made = self._content(b"{" + entry.tail)
        entry.remember(key, made, len(made))
        return made

    def _remembered(self, entry: Entry) -> bytes:
        found = entry.recall(self._key)
        if isinstance(found, bytes):
            return found
        made = self._content(self._json(entry))
        entry.remember(self._key, made, len(made))
        return made


class PartialCborEncoder(CborEncoder):
    """Encodes PartialObjectMetadata in CBOR, from its JSON."""

    def __init__(self, shape: EndpointFacts, version: str) -> None:
        super().__init__(shape)
        self._partial = PartialEncoder(shape, version)
        self._api_version, self._list_kind = f"meta.k8s.io/{version}", f"{_PARTIAL}List"
        self._key = (cbor.MEDIA_TYPE, self._api_version)
        self._headless = False

    def document(self, value: bytes) -> bytes:
        return cbor.answer(self._content(self._partial.document(value)))

    def list(self, meta: ListMeta, groups: Sequence[bytes], count: int) -> Sequence[bytes]:
        return (cbor.list_head(self._api_version, self._list_kind, meta.as_json(), count), *groups, b"")

    def _json(self, entry: Entry) -> bytes:
        return self._partial.entry(entry)

    def _content(self, value: bytes) -> bytes:
        return cbor.content(loads(value), None)


def plain(value: bytes) -> bytes:
    """The answer with JSON that is not an object of an endpoint, such as a Status."""
    return cbor.answer(cbor.content(loads(value), None))
