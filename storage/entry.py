"""An object version as the cache holds it, and a change from one version to the next.

Values in etcd are JSON without a resourceVersion. Of a value that was written canonically the cache keeps the `tail`:
everything after `{"kind":…,"apiVersion":…,` with the resourceVersion spliced into the metadata, after the uid, where Go
writes it. The head is the same for all objects of a resource, so that a GET is head + tail, a list item `{` + tail, and
nothing is parsed. Canonical values end in white space that no other writer leaves (`MARK`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from enum import Enum
from typing import Any, NamedTuple, Protocol, TypeVar

import orjson

from storage.errors import AwaitedObject, CorruptObject, StoredObject
from storage.etcd.transforming import AwaitedValue, UnreadableValue
from storage.memo import Memo, Memos, made_once

METADATA = b'"metadata":{'
MARK = b" \n"  # ends a value that was decoded, defaulted and ordered by this server
_END = ord("}")
_UID = b'"uid":"'
_VERSION = b',"resourceVersion":"'
_NAMESPACE = b'"namespace":'
_PARSED = "parsed"
PARSED_SIZE = 6  # bytes of memory that parsed JSON takes for one of text, about

MEMOS = Memos()

T = TypeVar("T")


def with_version(value: bytes, revision: int) -> bytes:
    """A canonical value as clients see it, with its resourceVersion (none for 0) and a newline at the end."""
    if not revision:
        return value.rstrip() + b"\n"
    at = _after_uid(value)
    return b'%b,"resourceVersion":"%d"%b\n' % (value[:at], revision, value[at:].rstrip())


def spliced_version(text: bytes) -> tuple[int, int]:
    """Where the member of the resourceVersion is that was spliced into a canonical value. Raises ValueError."""
    start = text.index(_VERSION)
    return start, text.index(b'"', start + len(_VERSION)) + 1


def _after_uid(value: bytes) -> int:
    """Where the uid ends. Before it come plain strings alone, whose quotes are escaped: nothing else matches."""
    return value.index(b'"', value.index(_UID) + len(_UID)) + 1


class Texts(Protocol):
    """Texts by name."""

    def get(self, name: str, default: str, /) -> str:
        """The value of a name, else the default."""
        ...


class LabelsAndFields(NamedTuple):
    """What selectors look at: an object's labels and its selectable fields. The labels are not to be changed."""

    labels: dict[str, str]
    fields: Texts


LabelsAndFieldsOf = Callable[[dict[str, Any]], LabelsAndFields]


class Entry:
    """One version of one object; immutable but for what is made of it on first use and remembered.

    `head` says in which version it is stored: `{"kind":…,"apiVersion":…,`, one bytes object for all that share it.
    """

    __slots__ = ("_labels_and_fields", "_memo", "head", "key", "revision", "tail")

    piece: bytes  # the tail for being joined with others: where that is in shared memory, a view of it and no copy

    def __init__(self, key: bytes, head: bytes, tail: bytes, revision: int) -> None:
        self.key, self.head, self.tail, self.revision = key, head, tail, revision
        self._labels_and_fields: LabelsAndFields | None = None
        self._memo: Memo | None = None

    def labels_and_fields(self, labels_and_fields_of: LabelsAndFieldsOf) -> LabelsAndFields:
        """Labels and selectable fields, parsed once per object version."""
        found = self._labels_and_fields
        if found is None:
            found = self._labels_and_fields = labels_and_fields_of(orjson.loads(b"{" + self.tail))
        return found

    def recall(self, key: object) -> object | None:
        """What was remembered of this version under a key; None if nothing was, or not any more."""
        memo = self._memo
        return None if memo is None else MEMOS.find(memo, key)

    def remember(self, key: object, value: object, size: int) -> None:
        """Remembers what was made of this version at some cost: about `size` bytes, not to be changed."""
        memo = self._memo
        if memo is None:
            memo = self._memo = Memo()
        MEMOS.keep(memo, key, value, size)

    async def made(self, key: object, make: Callable[[Entry], Awaitable[T]], size_of: Callable[[T], int]) -> T:
        """What `make` makes of this version, remembered under a key; made once for those who ask at the same time.

        Raises what `make` raises, which is not remembered.
        """
        found = self.recall(key)
        if found is not None:
            return found  # type: ignore[return-value]  # it was remembered here
        memo = self._memo
        if memo is None:
            memo = self._memo = Memo()
        value = await made_once(memo, key, lambda: make(self))
        MEMOS.keep(memo, key, value, size_of(value))
        return value

    def parsed(self) -> dict[str, Any]:
        """The object as it is stored, with its resourceVersion; remembered, and not to be changed."""
        found: Any = self.recall(_PARSED)
        if found is None:
            found = orjson.loads(self.head + self.tail)
            self.remember(_PARSED, found, PARSED_SIZE * len(self.tail))
        parsed: dict[str, Any] = found
        return parsed

    @property
    def size(self) -> int:
        """About how many bytes it keeps in memory."""
        return len(self.tail)

    @property
    def readable(self) -> Entry | None:
        """The newest version up to this one that can be read: itself, but for a `CorruptEntry`."""
        return self

    def stored(self) -> StoredObject:
        """The object as etcd holds it, or would if this server had written it."""
        tail = self.tail
        start, end = spliced_version(tail)
        return StoredObject(self.key, b"%b%b%b%b" % (self.head, tail[:start], tail[end:], MARK), self.revision)

    def at(self, revision: int) -> Entry:
        """The object under another resourceVersion, as a DELETED event carries it."""
        tail = self.tail
        start = tail.index(_VERSION) + len(_VERSION)
        tail = b"%b%d%b" % (tail[:start], revision, tail[tail.index(b'"', start) :])
        entry = Entry(self.key, self.head, tail, revision)
        entry._labels_and_fields = self._labels_and_fields
        return entry


Entry.piece = Entry.__dict__["tail"]  # another name of the same slot: as fast as that


class CorruptEntry(Entry):
    """An object version that can't be read: whoever asks for its content gets CorruptObject raised.

    That is an AwaitedObject where it may be read later.

    `last` is the newest version before it that could be read, if that was seen: what those who watch still have.
    """

    __slots__ = ("last", "raw", "reason")

    def __init__(self, key: bytes, raw: bytes, revision: int, reason: str, last: Entry | None = None) -> None:
        self.key, self.head, self.raw, self.revision, self.reason = key, b"", raw, revision, reason
        self.last = last
        self._labels_and_fields = self._memo = None

    @property
    def tail(self) -> bytes:  # type: ignore[override]  # there is none, whatever reads it must fail
        kind = AwaitedObject if isinstance(self.raw, AwaitedValue) else CorruptObject
        raise kind(self.key, self.revision, self.reason)

    @property
    def piece(self) -> bytes:  # type: ignore[override]  # as the tail
        return self.tail

    @property
    def size(self) -> int:
        return len(self.raw)

    @property
    def readable(self) -> Entry | None:
        return self.last

    def stored(self) -> StoredObject:
        return StoredObject(self.key, self.raw, self.revision, self.reason)

    def at(self, revision: int) -> Entry:
        last = None if self.last is None else self.last.at(revision)
        return CorruptEntry(self.key, self.raw, revision, self.reason, last)


def is_untransformed(entry: Entry) -> bool:
    """Whether an object can't be read because its value could not be turned, such as decrypted."""
    return type(entry) is CorruptEntry and isinstance(entry.raw, UnreadableValue)


def entry_of(key: bytes, value: bytes, revision: int, head: bytes) -> Entry:
    """Makes an entry of a canonical value that starts with `head`; raises ValueError if it only looks like one."""
    at = _after_uid(value)
    end = -len(MARK)
    if value[end - 1] != _END:
        end = len(value.rstrip())
    tail = b'%b,"resourceVersion":"%d"%b' % (value[len(head) : at], revision, value[at:end])
    if end > 0:
        return BlankedEntry(key, head, tail, revision, value[end : -len(MARK)])
    return Entry(key, head, tail, revision)


def is_awaited(entry: Entry | None) -> bool:
    """Whether an object can't be read at present, and may be later."""
    return type(entry) is CorruptEntry and isinstance(entry.raw, AwaitedValue)


def check_awaited(entries: Iterable[Entry]) -> None:
    """Raises AwaitedObject where one of some entries can't be read at present, and may be later."""
    for entry in entries:
        if is_awaited(entry):
            raise AwaitedObject(entry.key, entry.revision, entry.stored().corrupt)


def is_of(canonical: bytes, start: int, namespace: str, name: str) -> bool:
    """Whether metadata that begins at `start` has the namespace and the name that its key has.

    Before the uid come plain strings alone, whose quotes are escaped: nothing else is taken for a member.
    """
    if not canonical.startswith(b'"name":%b,' % orjson.dumps(name), start):
        return False
    at = canonical.find(_NAMESPACE, start, canonical.find(b'"uid":', start))
    if not namespace:
        return at < 0
    return canonical.startswith(b"%b," % orjson.dumps(namespace), at + len(_NAMESPACE))


class BlankedEntry(Entry):
    """An object version whose value ends in more white space than MARK: its writer's, and nothing that is shown."""

    __slots__ = ("blanks",)

    def __init__(self, key: bytes, head: bytes, tail: bytes, revision: int, blanks: bytes) -> None:
        super().__init__(key, head, tail, revision)
        self.blanks = blanks

    def stored(self) -> StoredObject:
        stored = super().stored()
        return StoredObject(stored.key, stored.value[: -len(MARK)] + self.blanks + MARK, stored.revision)


class RereadEntry(Entry):
    """An object version that is read otherwise than it was written: its CRD has changed since."""

    __slots__ = ()

    def stored(self) -> StoredObject:
        stored = super().stored()
        return StoredObject(stored.key, stored.raw, stored.revision, anew=True)


def reread_entry(key: bytes, value: bytes, revision: int, head: bytes) -> Entry:
    """As `entry_of`, of a value that etcd has otherwise."""
    made = entry_of(key, value, revision, head)
    return RereadEntry(key, head, made.tail, revision)


class ChangeType(Enum):
    """The type of a watch event, as the API names it."""

    ADDED = b"ADDED"
    MODIFIED = b"MODIFIED"
    DELETED = b"DELETED"


class Change:
    """One change of one object. `entry` is the new version, for a deletion the last one at the deletion's revision.

    `corrupt` tells that one of the versions can't be read: those who are shown changes go by `readable` then. Watches
    wait before one that is `awaited`, so that none of their events is left out.
    """

    __slots__ = ("corrupt", "entry", "previous", "revision", "type")

    def __init__(
        self, type_: ChangeType, revision: int, entry: Entry, previous: Entry | None, corrupt: bool = False
    ) -> None:
        self.type, self.revision, self.entry, self.previous = type_, revision, entry, previous
        self.corrupt = corrupt

    @property
    def key(self) -> bytes:
        return self.entry.key

    def readable(self) -> Change | None:
        """The change as it is to those who have seen only what can be read; None if it is none to them."""
        entry, previous = self.entry.readable, self.previous and self.previous.readable
        if entry is None or (self.type is not ChangeType.DELETED and entry is not self.entry):
            return None
        return Change(self.type if previous else ChangeType.ADDED, self.revision, entry, previous)

    @property
    def awaited(self) -> bool:
        """Whether one of the versions can't be read at present, and may be later."""
        return self.corrupt and (is_awaited(self.entry) or is_awaited(self.previous))

    def exchange(self, read: Mapping[Entry, Entry]) -> None:
        """Takes the versions that can be read by now in the place of those that could not."""
        self.entry = read.get(self.entry, self.entry)
        if self.previous is not None:
            self.previous = read.get(self.previous, self.previous)
        self.corrupt = type(self.entry) is CorruptEntry or type(self.previous) is CorruptEntry
