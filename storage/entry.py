"""An object version as the cache holds it, and a change from one version to the next.

Values in etcd are JSON without a resourceVersion. Of a value that was written canonically the cache keeps the `tail`:
everything after `{"kind":…,"apiVersion":…,` with the resourceVersion spliced into the metadata, after the uid, where Go
writes it. The head is the same for all objects of a resource, so that a GET is head + tail, a list item `{` + tail, and
nothing is parsed. Canonical values end in white space that no other writer leaves (`MARK`).
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, NamedTuple

import orjson

METADATA = b'"metadata":{'
MARK = b" \n"  # ends a value that was decoded, defaulted and ordered by this server
_UID = b'"uid":"'
_VERSION = b',"resourceVersion":"'


def with_version(value: bytes, revision: int) -> bytes:
    """A canonical value as clients see it, with its resourceVersion (none for 0) and a newline at the end."""
    if not revision:
        return value[: -len(MARK)] + b"\n"
    at = _after_uid(value)
    return b'%b,"resourceVersion":"%d"%b\n' % (value[:at], revision, value[at : -len(MARK)])


def _after_uid(value: bytes) -> int:
    """Where the uid ends. Before it come plain strings alone, whose quotes are escaped: nothing else matches."""
    return value.index(b'"', value.index(_UID) + len(_UID)) + 1


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
        """The canonical value, as etcd holds it."""
        tail = self.tail
        start = tail.index(_VERSION)
        return b"%b%b%b%b" % (head, tail[:start], tail[tail.index(b'"', start + len(_VERSION)) + 1 :], MARK)

    def at(self, revision: int) -> Entry:
        """The same object under another resourceVersion, as a DELETED event carries it."""
        tail = self.tail
        start = tail.index(_VERSION) + len(_VERSION)
        entry = Entry(self.key, b"%b%d%b" % (tail[:start], revision, tail[tail.index(b'"', start) :]), revision)
        entry._attributes = self._attributes
        return entry


def entry_of(key: bytes, value: bytes, revision: int, head: bytes) -> Entry:
    """Makes an entry of a canonical value that starts with `head`."""
    at = _after_uid(value)
    tail = b'%b,"resourceVersion":"%d"%b' % (value[len(head) : at], revision, value[at : -len(MARK)])
    return Entry(key, tail, revision)


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
