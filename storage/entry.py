"""An object version as the cache holds it, and a change from one version to the next.

Values in etcd are JSON without a resourceVersion. The cache splits a canonical value into `head`, which is
`{"kind":…,"apiVersion":…,`, and `tail`, the rest. The tail has the resourceVersion spliced into the metadata, after the
uid, where Go writes it. The head is the same for all objects of a resource. So a GET answers head + tail, a list item
is `{` + tail, and nothing is parsed. Canonical values end in white space that no other writer leaves (`MARK`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple, Protocol, TypeVar

import orjson

from storage.errors import AwaitedObject, CorruptObject, StoredObject
from storage.escapes import escaped
from storage.memo import Memo, Memos, made_once
from storage.values import AwaitedValue, UnreadableValue

METADATA = b'"metadata":{'
MARK = b" \n"  # ends a value that was decoded, defaulted and ordered by this server
_END = ord("}")
_UID = b'"uid":"'
_VERSION = b',"resourceVersion":"'
_NAMESPACE = b'"namespace":'
_PARSED = "parsed"
PARSED_SIZE = 6  # about how many bytes of memory parsed JSON takes per byte of text

MEMOS = Memos()

T = TypeVar("T")


def with_version(value: bytes, revision: int) -> bytes:
    """A canonical value as clients see it, with its resourceVersion (none for 0) and a newline at the end."""
    if not revision:
        return value.rstrip() + b"\n"
    at = _after_uid(value)
    return b'%b,"resourceVersion":"%d"%b\n' % (value[:at], revision, value[at:].rstrip())


def spliced_version(text: bytes) -> tuple[int, int]:
    """Start and end of the spliced resourceVersion member in a tail. Raises ValueError if there is none."""
    start = text.index(_VERSION)
    return start, text.index(b'"', start + len(_VERSION)) + 1


def _after_uid(value: bytes) -> int:
    """The index after the uid's value. Before it are only strings with escaped quotes: `_UID` matches nothing else."""
    return value.index(b'"', value.index(_UID) + len(_UID)) + 1


class Texts(Protocol):
    """Texts by name."""

    def get(self, name: str, default: str, /) -> str:
        """The value of a name, else the default."""
        ...


class LabelsAndFields(NamedTuple):
    """What selectors look at: an object's labels and its selectable fields. Callers must not change the labels."""

    labels: dict[str, str]
    fields: Texts


LabelsAndFieldsOf = Callable[[dict[str, Any]], LabelsAndFields]


class Entry:
    """One version of one object. It is immutable, apart from the values that are computed on first use and kept.

    `head` is `{"kind":…,"apiVersion":…,` of the version it is stored in; entries of a resource share this bytes object.
    """

    __slots__ = ("_labels_and_fields", "_memo", "head", "key", "revision", "tail")

    piece: bytes  # the tail, for joining with others: for a tail in shared memory a view, not a copy

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
        """The value that was remembered under a key for this version; None if there is none, or it was evicted."""
        memo = self._memo
        return None if memo is None else MEMOS.find(memo, key)

    def remember(self, key: object, value: object, size: int) -> None:
        """Remembers a value of about `size` bytes that was costly to compute. No caller may change the value."""
        memo = self._memo
        if memo is None:
            memo = self._memo = Memo()
        MEMOS.keep(memo, key, value, size)

    def forget(self) -> None:
        """Frees what is remembered for this version; it is computed again when it is needed."""
        self._memo = None

    async def made(self, key: object, make: Callable[[Entry], Awaitable[T]], size_of: Callable[[T], int]) -> T:
        """The result of `make` for this version, remembered under a key. Concurrent callers share one call of `make`.

        Raises what `make` raises; errors are not remembered.
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
        """The object as it is stored, with its resourceVersion. It is remembered: callers must not change it."""
        found: Any = self.recall(_PARSED)
        if found is None:
            found = orjson.loads(self.head + self.tail)
            self.remember(_PARSED, found, PARSED_SIZE * len(self.tail))
        parsed: dict[str, Any] = found
        return parsed

    def derived(self, key: Hashable, make: Callable[[dict[str, Any]], T]) -> T:
        """The result of `make` for the parsed object, which depends on no uid, no time and no resourceVersion in it.
        Objects that are otherwise equal may share the result, by the `key`, which names the kind of result: no caller
        may change it.
        """
        return make(self.parsed())

    @property
    def size(self) -> int:
        """About how many bytes it keeps in memory."""
        return len(self.tail)

    @property
    def readable(self) -> Entry | None:
        """The newest readable version up to this one: this entry itself; for a `CorruptEntry` its `last`, or None."""
        return self

    def stored(self) -> StoredObject:
        """The object in the canonical form in which this server writes it to etcd."""
        tail = self.tail
        start, end = spliced_version(tail)
        return StoredObject(self.key, b"%b%b%b%b" % (self.head, tail[:start], tail[end:], MARK), self.revision)

    def at(self, revision: int) -> Entry:
        """A copy with another resourceVersion, for a DELETED event."""
        tail = self.tail
        start = tail.index(_VERSION) + len(_VERSION)
        tail = b"%b%d%b" % (tail[:start], revision, tail[tail.index(b'"', start) :])
        entry = Entry(self.key, self.head, tail, revision)
        entry._labels_and_fields = self._labels_and_fields
        return entry


Entry.piece = Entry.__dict__["tail"]  # another name of the same slot: as fast as `tail`


class CorruptEntry(Entry):
    """An object version that can't be read. Access to its content raises CorruptObject.

    It raises AwaitedObject where the value may become readable later.

    `last` is the newest readable version before it, None if the cache saw none. Watchers still have that version.
    """

    __slots__ = ("last", "raw", "reason")

    def __init__(self, key: bytes, raw: bytes, revision: int, reason: str, last: Entry | None = None) -> None:
        self.key, self.head, self.raw, self.revision, self.reason = key, b"", raw, revision, reason
        self.last = last
        self._labels_and_fields = self._memo = None

    @property
    def tail(self) -> bytes:  # type: ignore[override]  # there is none: each read must fail
        kind = AwaitedObject if isinstance(self.raw, AwaitedValue) else CorruptObject
        raise kind(self.key, self.revision, self.reason, self.raw)

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
    """Whether an object can't be read because its value could not be transformed, such as decrypted."""
    return type(entry) is CorruptEntry and isinstance(entry.raw, UnreadableValue)


def entry_of(key: bytes, value: bytes, revision: int, head: bytes) -> Entry:
    """Makes an entry of a canonical value that starts with `head`. Raises ValueError if the value is not canonical."""
    at = _after_uid(value)
    end = -len(MARK)
    if value[end - 1] != _END:
        end = len(value.rstrip())
    tail = b'%b,"resourceVersion":"%d"%b' % (value[len(head) : at], revision, value[at:end])
    if end > 0:
        return BlankedEntry(key, head, tail, revision, value[end : -len(MARK)])
    return Entry(key, head, tail, revision)


def is_awaited(entry: Entry | None) -> bool:
    """Whether an object can't be read at present, but may become readable later."""
    return type(entry) is CorruptEntry and isinstance(entry.raw, AwaitedValue)


def check_awaited(entries: Iterable[Entry]) -> None:
    """Raises AwaitedObject if one of the entries can't be read at present, but may become readable later."""
    for entry in entries:
        if is_awaited(entry):
            stored = entry.stored()
            raise AwaitedObject(entry.key, entry.revision, stored.corrupt, stored.raw)


def is_of(canonical: bytes, start: int, namespace: str, name: str) -> bool:
    """Whether the metadata, which begins at `start`, has this namespace and name; both come from the key.

    Only strings come before the uid, with escaped quotes: the search finds no text inside a value.
    """
    if not canonical.startswith(b'"name":%b,' % orjson.dumps(name), start) and not (
        canonical.startswith(b'"name":%b,' % escaped(orjson.dumps(name)), start)
    ):
        return False
    at = canonical.find(_NAMESPACE, start, canonical.find(b'"uid":', start))
    if not namespace:
        return at < 0
    return canonical.startswith(b"%b," % orjson.dumps(namespace), at + len(_NAMESPACE))


class BlankedEntry(Entry):
    """An object version whose writer left white space before MARK. Clients do not see it; `stored` keeps it."""

    __slots__ = ("blanks",)

    def __init__(self, key: bytes, head: bytes, tail: bytes, revision: int, blanks: bytes) -> None:
        super().__init__(key, head, tail, revision)
        self.blanks = blanks

    def stored(self) -> StoredObject:
        stored = super().stored()
        return StoredObject(stored.key, stored.value[: -len(MARK)] + self.blanks + MARK, stored.revision)


class RereadEntry(Entry):
    """An object version that is read differently than it was written: its CRD or the minor has changed since."""

    __slots__ = ()

    def stored(self) -> StoredObject:
        stored = super().stored()
        return StoredObject(stored.key, stored.raw, stored.revision, anew=True)


def reread_entry(key: bytes, value: bytes, revision: int, head: bytes) -> Entry:
    """As `entry_of`, for a canonical value that differs from the bytes in etcd."""
    made = entry_of(key, value, revision, head)
    return RereadEntry(key, head, made.tail, revision)


class ChangeType(Enum):
    """The type of a watch event, as the API names it."""

    ADDED = b"ADDED"
    MODIFIED = b"MODIFIED"
    DELETED = b"DELETED"


class Change:
    """One change of one object. `entry` is the new version; for a deletion, the last one at the deletion's revision.

    `corrupt` tells that one of the two versions can't be read: watches then use `readable`. A watch stops before a
    change that is `awaited` until the version can be read, so that it skips no event.
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
        """The change between the readable versions, for watchers; None if no readable version changed."""
        entry, previous = self.entry.readable, self.previous and self.previous.readable
        if entry is None or (self.type is not ChangeType.DELETED and entry is not self.entry):
            return None
        return Change(self.type if previous else ChangeType.ADDED, self.revision, entry, previous)

    @property
    def awaited(self) -> bool:
        """Whether one of the two versions can't be read at present, but may become readable later."""
        return self.corrupt and (is_awaited(self.entry) or is_awaited(self.previous))

    def exchange(self, read: Mapping[Entry, Entry]) -> None:
        """Replaces versions that could not be read (the keys of `read`) by the now readable ones (its values)."""
        self.entry = read.get(self.entry, self.entry)
        if self.previous is not None:
            self.previous = read.get(self.previous, self.previous)
        self.corrupt = type(self.entry) is CorruptEntry or type(self.previous) is CorruptEntry


Canonicalise = Callable[[bytes], bytes]


@dataclass(frozen=True, slots=True)
class ResourceSpec:
    """What the cache has to know of a resource. `head` is `{"kind":…,"apiVersion":…,` of its storage version.

    `other_heads` are the heads of other versions in which canonical values may be stored.
    """

    prefix: bytes  # "/registry/pods/"
    head: bytes
    canonicalise: Canonicalise  # a foreign writer's value -> a canonical, defaulted one; may raise any Exception
    labels_and_fields_of: LabelsAndFieldsOf
    other_heads: tuple[bytes, ...] = ()
    group_resource: tuple[str, str] = ("", "")  # for metrics
    trusts_marks: bool = True  # whether a value that ends in MARK is canonical; False where a CRD may change the form
    outdated: Callable[[bytes], bool] | None = None  # finds canonical values that `canonicalise` changes all the same
    awaited: bool = False  # whether a write returns only once the cache has it, because it affects the next requests
