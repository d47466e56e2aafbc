"""Objects, lists and watch events of one endpoint in protobuf. Each version of an object is encoded once."""

from __future__ import annotations

from collections.abc import Sequence

from gateway.encodings import protobuf
from gateway.encodings.encoder import EndpointFacts
from gateway.encodings.json import bookmark_object
from gateway.encodings.list_meta import ListMeta
from gateway.jsontypes import loads
from gateway.schema.catalog import META, type_of
from storage.entry import ChangeType, Entry

_STEP = 128 * 1024  # bytes of JSON that are encoded in a few milliseconds


class ProtobufEncoder:
    """Encodes whole objects in protobuf; an `Encoder`."""

    content_type = protobuf.MEDIA_TYPE.encode()
    step = _STEP
    memorable = True
    streamable = False  # a protobuf list starts with its length
    apart = None
    lasting = None

    def __init__(self, shape: EndpointFacts) -> None:
        self._shape = shape
        self._key = (protobuf.MEDIA_TYPE, shape.head)

    def document(self, value: bytes) -> bytes:
        return self._answer(self._message(value))

    def entry(self, entry: Entry) -> bytes:
        return self._answer(self._remembered(entry))

    def fresh(self, entry: Entry) -> bytes:
        """As `entry`, without the memo, which only the event loop's thread may use."""
        return self._answer(self._message(self._shape.json(entry)))

    def items(self, entries: Sequence[Entry], first: bool) -> bytes:
        return b"".join([protobuf.list_item(self._remembered(entry)) for entry in entries])

    def list(self, meta: ListMeta, groups: Sequence[bytes], count: int) -> Sequence[bytes]:
        shape = self._shape
        size = sum(map(len, groups))
        head, end = protobuf.list_frame(shape.api_version, f"{shape.kind}List", meta.as_json(shard=True), size)
        return (head, *groups, end)

    def event(self, type_: ChangeType, entry: Entry) -> bytes:
        return protobuf.watch_event(type_.value.decode(), self.entry(entry))

    def bookmark(self, revision: int, initial_events_end: bool = False) -> bytes:
        return protobuf.watch_event(
            "BOOKMARK", self.document(bookmark_object(self._shape, revision, initial_events_end))
        )

    def error(self, status: bytes) -> bytes:
        return protobuf.watch_event("ERROR", status_message(status))

    def opening(self, chunk: bytes) -> bytes:
        return chunk

    def _answer(self, content: bytes) -> bytes:
        return protobuf.answer(self._shape.api_version, self._shape.kind, content)

    def _message(self, value: bytes) -> bytes:
        return protobuf.message(self._shape.type(), loads(value))

    def _remembered(self, entry: Entry) -> bytes:
        found = entry.recall(self._key)
        if isinstance(found, bytes):
            return found
        made = self._message(self._shape.json(entry))
        entry.remember(self._key, made, len(made))
        return made


def status_message(status: bytes) -> bytes:
    """The answer with a Status, which is given as JSON."""
    return protobuf.answer("v1", "Status", protobuf.message(type_of(META + "Status"), loads(status)))
