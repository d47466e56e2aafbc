"""An object version as the cache holds it, and a change from one version to the next.

Values in etcd are JSON without a resourceVersion. Of a value that was written canonically the cache keeps the `tail`:
everything after `{"kind":…,"apiVersion":…,` with the resourceVersion spliced into the metadata. The head is the same
for all objects of a resource, so that a GET is head + tail, a list item `{` + tail, and nothing is parsed.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, NamedTuple

import orjson

METADATA = b'"metadata":{'
_VERSION = b'"metadata":{"resourceVersion":"%d",'
_EMPTY_VERSION = b'"metadata":{"resourceVersion":"%d"'


class Attributes(NamedTuple):
    """What selectors look at: an object's labels and its selectable fields."""

    labels: dict[str, str]
    fields: dict[str, str]


AttributesOf = Callable[[dict[str, Any]], Attributes]


class Entry:
    """One version of one object; immutable but for the attributes, which are read out of the JSON on first use."""

    __slots__ = ("_attributes", "key", "revision", "tail")

    def __init__(self, key: bytes, tail: bytes, revision: int) -> None:
        self.key, self.tail, self.revision = key, tail, revision
        self._attributes: Attributes | None = None

    def attributes(self, attributes_of: AttributesOf) -> Attributes:
        """Labels and selectable fields, parsed once per object version."""
        found = self._attributes
        if found is None:
            found = self._attributes = attributes_of(orjson.loads(b"{" + self.tail))
        return found

    def value(self, head: bytes) -> bytes:
        """The value as etcd holds it: the canonical JSON without a resourceVersion."""
        start = self.tail.index(b'"', len(METADATA) + len(b'"resourceVersion":"')) + 1
        rest = self.tail[start + 1 :] if self.tail[start : start + 1] == b"," else self.tail[start:]
        return head + METADATA + rest

    def at(self, revision: int) -> Entry:
        """The same object under another resourceVersion, as a DELETED event carries it."""
        start = self.tail.index(b'"', len(METADATA) + len(b'"resourceVersion":"')) + 1
        entry = Entry(self.key, _EMPTY_VERSION % revision + self.tail[start:], revision)
        entry._attributes = self._attributes
        return entry


def entry_of(key: bytes, value: bytes, revision: int, head: bytes) -> Entry:
    """Makes an entry of a canonical value, which starts with `head` and the metadata."""
    start = len(head) + len(METADATA)
    if value[start : start + 1] == b"}":
        return Entry(key, _EMPTY_VERSION % revision + value[start:], revision)
    return Entry(key, _VERSION % revision + value[start:], revision)


class ChangeType(Enum):
    """The type of a watch event, as the API names it."""

    ADDED = b"ADDED"
    MODIFIED = b"MODIFIED"
    DELETED = b"DELETED"


class Change:
    """One change of one object. `entry` is the new version, for a deletion the last one at the deletion's revision."""

    __slots__ = ("entry", "previous", "revision", "type")

    def __init__(self, type_: ChangeType, revision: int, entry: Entry, previous: Entry | None) -> None:
        self.type, self.revision, self.entry, self.previous = type_, revision, entry, previous

    @property
    def key(self) -> bytes:
        return self.entry.key
