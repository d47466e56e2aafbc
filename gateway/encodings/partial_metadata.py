"""PartialObjectMetadata and its list, in meta.k8s.io/v1 and v1beta1 ("Alternate representations of resources").

Objects are given as *tails*, as in the cache: `"metadata":{…},…}`. The end of the metadata is found once per object
version (`Metadata.of`, the only function that parses) and can be kept. All other functions cut and join bytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from gateway.encodings.list_meta import ListMeta
from gateway.jsontypes import JsonObject, dumps, loads

_START = b'"metadata":'


class Metadata(NamedTuple):
    """The place of an object's metadata: the first `end` bytes of its tail, or a copy in `own` if that is not empty."""

    end: int
    own: bytes = b""

    @staticmethod
    def of(tail: bytes, fields: frozenset[str] = frozenset()) -> Metadata:
        """Finds the metadata of an object, which it parses; without the annotations `fields`."""
        return Metadata.within(tail, loads(b"{" + tail), fields)

    @staticmethod
    def within(tail: bytes, obj: JsonObject, fields: frozenset[str] = frozenset()) -> Metadata:
        """Finds the metadata of a parsed object, without the annotations `fields`."""
        if fields and not fields.isdisjoint(obj["metadata"].get("annotations") or ()):
            return Metadata(0, _START + dumps(_without(obj["metadata"], fields)))
        own = _START + dumps(obj["metadata"])
        return Metadata(len(own)) if tail.startswith(own) else Metadata(0, own)

    def cut(self, tail: bytes) -> bytes:
        """The bytes `"metadata":{…}`."""
        return self.own or tail[: self.end]


def _without(meta: JsonObject, fields: frozenset[str]) -> JsonObject:
    left = {name: text for name, text in meta["annotations"].items() if name not in fields}
    return {key: left if key == "annotations" else part for key, part in meta.items() if left or key != "annotations"}


def type_meta(kind: str, version: str) -> bytes:
    """The first bytes of an object of the group meta.k8s.io."""
    return b'{"kind":"%b","apiVersion":"meta.k8s.io/%b",' % (kind.encode(), version.encode())


HEADS = {version: type_meta("PartialObjectMetadata", version) for version in ("v1", "v1beta1")}


def partial_object(version: str, tail: bytes, metadata: Metadata) -> bytes:
    """One PartialObjectMetadata, without a newline: for an answer, an event or an item."""
    return HEADS[version] + metadata.cut(tail) + b"}"


def list_head(version: str, meta: ListMeta) -> bytes:
    """The bytes of a list before its items: `[…]`, or null without items."""
    return type_meta("PartialObjectMetadataList", version) + b'"metadata":' + meta.encode() + b',"items":'


def items(version: str, entries: Iterable[tuple[bytes, Metadata]]) -> bytes:
    """Some items, with commas between them, without brackets."""
    head = HEADS[version]
    between = b"}," + head
    joined = between.join([own or tail[:end] for tail, (end, own) in entries])
    return head + joined + b"}" if joined else b""


def partial_list(version: str, meta: ListMeta, entries: Iterable[tuple[bytes, Metadata]]) -> bytes:
    """A whole list in one piece. Without items, `items` is null, as in kube-apiserver."""
    joined = items(version, entries)
    return list_head(version, meta) + (b"[" + joined + b"]}\n" if joined else b"null}\n")
