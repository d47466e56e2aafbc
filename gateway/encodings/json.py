"""application/json: a head and the entry's tail, which are joined without parsing."""

from __future__ import annotations

from collections.abc import Sequence

from gateway.encodings.encoder import AsJson, EndpointFacts
from gateway.encodings.list_meta import ListMeta
from gateway.jsontypes import dumps
from storage.entry import METADATA, ChangeType, Entry

CHUNK = 1 << 20  # bytes of a list joined at once
EVENTS = {type_: b'{"type":"' + type_.value + b'","object":' for type_ in ChangeType}
_END_OF_INITIAL = b',"annotations":{"k8s.io/initial-events-end":"true"}'


class JsonEncoder:
    """Encodes compact JSON; an `Encoder`."""

    content_type = b"application/json"
    step = CHUNK
    memorable = True
    streamable = True

    def __init__(self, shape: EndpointFacts) -> None:
        self.shape = shape
        self._events = {type_: start + shape.head for type_, start in EVENTS.items()}

    fresh = lasting = None

    @property
    def apart(self) -> AsJson | None:
        return None

    def document(self, value: bytes) -> bytes:
        return value

    def entry(self, entry: Entry) -> bytes:
        return b"%b%b\n" % (self.shape.head, entry.piece)

    def items(self, entries: Sequence[Entry], first: bool) -> bytes:
        head = self.shape.item_head
        between = b"," + head
        return (head if first else between) + between.join([entry.piece for entry in entries])

    def list(self, meta: ListMeta, groups: Sequence[bytes], count: int) -> Sequence[bytes]:
        return (list_head(self.shape, meta), *groups, b"]}\n")

    def event(self, type_: ChangeType, entry: Entry) -> bytes:
        return b"%b%b}\n" % (self._events[type_], entry.piece)

    def bookmark(self, revision: int, initial_events_end: bool = False) -> bytes:
        return b'{"type":"BOOKMARK","object":%b}\n' % bookmark_object(self.shape, revision, initial_events_end)

    def error(self, status: bytes) -> bytes:
        return b'{"type":"ERROR","object":%b}\n' % status

    def opening(self, chunk: bytes) -> bytes:
        return chunk


def list_head(shape: EndpointFacts, meta: ListMeta) -> bytes:
    """A list's JSON up to its items."""
    more = b""
    if meta.continuation:
        more = b',"continue":' + dumps(meta.continuation)
        if meta.remaining is not None:
            more += b',"remainingItemCount":%d' % meta.remaining
    elif shape.custom:
        more = b',"continue":""'
    if meta.shard and not shape.custom:  # Go's lists of custom resources have no such field
        more += b',"shardInfo":{"selector":%b}' % dumps(meta.shard)
    return b'%b%d"%b},"items":[' % (shape.list_head, meta.revision, more)


def bookmark_object(shape: EndpointFacts, revision: int, initial_events_end: bool) -> bytes:
    """The JSON object of a bookmark: the endpoint's kind, with only a resourceVersion in its metadata."""
    annotations = _END_OF_INITIAL if initial_events_end else b""
    metadata = b'%b"resourceVersion":"%d"%b}' % (METADATA, revision, annotations)
    return shape.head + metadata + shape.empty()
