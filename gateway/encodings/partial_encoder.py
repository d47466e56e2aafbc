"""PartialObjectMetadata of one endpoint's objects, in JSON and in protobuf."""

from __future__ import annotations

from collections.abc import Sequence

from gateway.encodings import partial_metadata, protobuf
from gateway.encodings.encoder import EndpointFacts
from gateway.encodings.json import CHUNK, EVENTS, bookmark_object
from gateway.encodings.list_meta import ListMeta
from gateway.encodings.partial_metadata import Metadata
from gateway.encodings.protobuf_encoder import status_message
from gateway.jsontypes import loads
from gateway.schema.catalog import META, type_of
from storage.entry import ChangeType, Entry

_STEP = 512 * 1024  # bytes of JSON that are parsed in a few milliseconds
_FOUND = "where the metadata is"


class PartialEncoder:
    """Encodes PartialObjectMetadata in JSON.

    It parses an object to find the end of its metadata. A cache entry is parsed once: the result is cached on it.
    """

    content_type = b"application/json"
    step = min(_STEP, CHUNK)
    memorable = True
    streamable = True
    apart = None
    fresh = lasting = None

    def __init__(self, shape: EndpointFacts, version: str) -> None:
        self._shape, self._version, self._fields = shape, version, shape.annotated_fields()

    def document(self, value: bytes) -> bytes:
        return self.object(value[len(self._shape.head) :].rstrip(b"\n")) + b"\n"

    def object(self, tail: bytes) -> bytes:
        """The PartialObjectMetadata of an object, without a newline. `tail`: the object's JSON without its head."""
        return partial_metadata.partial_object(self._version, tail, Metadata.of(tail, self._fields))

    def entry(self, entry: Entry) -> bytes:
        return partial_metadata.partial_object(self._version, entry.tail, metadata_of(entry, self._fields)) + b"\n"

    def items(self, entries: Sequence[Entry], first: bool) -> bytes:
        made = partial_metadata.items(
            self._version, [(entry.tail, metadata_of(entry, self._fields)) for entry in entries]
        )
        return made if first else b"," + made

    def list(self, meta: ListMeta, groups: Sequence[bytes], count: int) -> Sequence[bytes]:
        head = partial_metadata.list_head(self._version, meta)
        return (head + b"[", *groups, b"]}\n") if count else (head, b"null}\n")

    def event(self, type_: ChangeType, entry: Entry) -> bytes:
        made = partial_metadata.partial_object(self._version, entry.tail, metadata_of(entry, self._fields))
        return b"%b%b}\n" % (EVENTS[type_], made)

    def bookmark(self, revision: int, initial_events_end: bool = False) -> bytes:
        whole = bookmark_object(self._shape, revision, initial_events_end)
        return b'{"type":"BOOKMARK","object":%b}\n' % self.object(whole[len(self._shape.head) :])

    def error(self, status: bytes) -> bytes:
        return b'{"type":"ERROR","object":%b}\n' % status

    def opening(self, chunk: bytes) -> bytes:
        return chunk


class PartialProtobufEncoder:
    """Encodes PartialObjectMetadata in protobuf, from its JSON."""

    content_type = protobuf.MEDIA_TYPE.encode()
    step = 256 * 1024
    memorable = True
    streamable = False  # a protobuf list starts with its length
    apart = None
    fresh = lasting = None

    def __init__(self, shape: EndpointFacts, version: str) -> None:
        self._json, self._api_version = PartialEncoder(shape, version), f"meta.k8s.io/{version}"
        self._key = (protobuf.MEDIA_TYPE, self._api_version)
        self._type = type_of(META + "PartialObjectMetadata")

    def document(self, value: bytes) -> bytes:
        return self._answer(self._message(self._json.document(value)))

    def entry(self, entry: Entry) -> bytes:
        return self._answer(self._remembered(entry))

    def items(self, entries: Sequence[Entry], first: bool) -> bytes:
        return b"".join([protobuf.list_item(self._remembered(entry)) for entry in entries])

    def list(self, meta: ListMeta, groups: Sequence[bytes], count: int) -> Sequence[bytes]:
        size = sum(map(len, groups))
        head, end = protobuf.list_frame(self._api_version, "PartialObjectMetadataList", meta.as_json(), size)
        return (head, *groups, end)

    def event(self, type_: ChangeType, entry: Entry) -> bytes:
        return protobuf.watch_event(type_.value.decode(), self.entry(entry))

    def bookmark(self, revision: int, initial_events_end: bool = False) -> bytes:
        event = loads(self._json.bookmark(revision, initial_events_end))
        return protobuf.watch_event("BOOKMARK", self._answer(protobuf.message(self._type, event["object"])))

    def error(self, status: bytes) -> bytes:
        return protobuf.watch_event("ERROR", status_message(status))

    def opening(self, chunk: bytes) -> bytes:
        return chunk

    def _answer(self, content: bytes) -> bytes:
        return protobuf.answer(self._api_version, "PartialObjectMetadata", content)

    def _message(self, value: bytes) -> bytes:
        return protobuf.message(self._type, loads(value))

    def _remembered(self, entry: Entry) -> bytes:
        found = entry.recall(self._key)
        if isinstance(found, bytes):
            return found
        made = self._message(self._json.entry(entry))
        entry.remember(self._key, made, len(made))
        return made


def metadata_of(entry: Entry, fields: frozenset[str]) -> Metadata:
    """Where the metadata is in an entry, without the annotations named in `fields`. It is cached on the entry."""
    found = entry.recall(_FOUND)
    if isinstance(found, Metadata):
        return found
    made = Metadata.of(entry.tail, fields)
    entry.remember(_FOUND, made, 100 + len(made.own))
    return made
