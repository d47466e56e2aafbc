"""Values in shared memory, and entries whose bytes are there.

A mapped segment lives as long as an entry points into it, by Python's reference counts: no call frees a value.
"""

from __future__ import annotations

from mmap import mmap
from struct import Struct

from storage.entry import MARK, Entry, spliced_version
from storage.sharing.records import SPLICED, UNREADABLE
from storage.values import AwaitedValue, UnreadableValue

_REASON = Struct("<I?")  # before an unreadable value: the reason's length, and whether it may become readable


class Located:
    """A value in shared memory: `segment[start:end]`. If `spliced`, its resourceVersion is spliced in.

    The code passes it in place of the bytes of etcd. Only canonical values are spliced.
    """

    __slots__ = ("end", "segment", "spliced", "start")

    def __init__(self, segment: mmap | bytes, start: int, end: int, spliced: bool) -> None:
        self.segment, self.start, self.end, self.spliced = segment, start, end, spliced

    def raw(self) -> bytes:
        """The bytes of the value in etcd."""
        text = self.segment[self.start : self.end]
        if not self.spliced:
            return text
        start, end = spliced_version(text)
        return b"%b%b%b" % (text[:start], text[end:], MARK)

    def starts_with(self, head: bytes) -> bool:
        """Whether the value begins with `head`."""
        return self.segment[self.start : self.start + len(head)] == head

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Located):
            return self.raw() == other.raw()
        return self.raw() == other

    __hash__ = None  # type: ignore[assignment]  # unhashable: it compares equal to bytes, but has not their hash


class UnreadableShared(Located):
    """A value that the feeder could not decrypt: shared memory has the reason, then the bytes of etcd."""

    __slots__ = ()

    def raw(self) -> UnreadableValue:
        text = self.segment[self.start : self.end]
        length, awaited = _REASON.unpack_from(text)
        start = _REASON.size + length
        found = (AwaitedValue if awaited else UnreadableValue)(text[start:])
        found.reason = text[_REASON.size : start].decode()
        return found


def unreadable(value: UnreadableValue) -> bytes:
    """The bytes that shared memory holds for an unreadable value."""
    reason = value.reason.encode()
    return b"%b%b%b" % (_REASON.pack(len(reason), isinstance(value, AwaitedValue)), reason, value)


def value_at(segment: mmap, start: int, end: int, flags: int) -> Located:
    """The value at a place in a segment; the flags of its record tell its type."""
    kind = UnreadableShared if flags & UNREADABLE else Located
    return kind(segment, start, end, bool(flags & SPLICED))


_held = Entry.__dict__["tail"].__get__  # the slot of an entry, where a SharedEntry has its Located
_hold = Entry.__dict__["tail"].__set__


class SharedEntry(Entry):
    """An entry whose bytes are in shared memory; each access to `tail` copies them.

    It has the slots of an Entry, so that `share` can turn an Entry into one while other code refers to it: the feeder
    has then written a value that this process has from its own write. It never turns back, because a thread may be
    about to read its tail.
    """

    __slots__ = ()

    def __init__(self, key: bytes, head: bytes, located: Located, revision: int) -> None:
        self.key, self.head, self.revision = key, head, revision
        self._labels_and_fields = self._memo = None
        _hold(self, located)

    @property
    def tail(self) -> bytes:  # type: ignore[override]  # made on demand
        found: Located = _held(self)
        return found.segment[found.start + len(self.head) : found.end]

    @property
    def piece(self) -> bytes:  # type: ignore[override]  # as the tail
        found: Located = _held(self)
        return memoryview(found.segment)[found.start + len(self.head) : found.end]  # type: ignore[return-value]  # a buffer

    @property
    def size(self) -> int:
        found: Located = _held(self)
        return found.end - found.start - len(self.head)


def share(entry: Entry, located: Located) -> None:
    """Makes an entry use the same bytes in shared memory; does nothing if the bytes differ."""
    kind = type(entry)
    if not located.spliced or (kind is not Entry and kind is not SharedEntry):
        return
    if located.segment[located.start + len(entry.head) : located.end] == entry.tail and located.starts_with(entry.head):
        entry.__class__ = SharedEntry
        _hold(entry, located)


def leave(entry: Entry | None, segment: mmap) -> None:
    """Copies an entry's bytes out of `segment`, if they are there."""
    if type(entry) is SharedEntry:
        found: Located = _held(entry)
        if found.segment is segment:
            text = segment[found.start : found.end]
            _hold(entry, Located(text, 0, len(text), True))
