"""The cache of one resource: its objects, which the feed keeps up to date, and the history of recent changes.

Nothing here waits for etcd; reading is plain memory access. `storage/watch_cache.py` holds the caches of all resources.
"""

from __future__ import annotations

import logging
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from itertools import count
from mmap import mmap
from typing import TypeVar

from storage.entry import (
    MARK,
    METADATA,
    Change,
    ChangeType,
    CorruptEntry,
    Entry,
    ResourceSpec,
    entry_of,
    is_awaited,
    is_of,
    reread_entry,
)
from storage.escapes import escaped
from storage.guard import FAILURES
from storage.history import History
from storage.index import FEW, Indexes
from storage.keys import namespace_and_name, prefix_end
from storage.metrics import RECEIVED, Dispatch
from storage.relevant_changes import Concerning
from storage.sharing.located_values import Located, SharedEntry, leave, share
from storage.undo import Undoings
from storage.values import UnreadableValue
from storage.waiters import Interest, InterestKind, Told, Waiter, Waiters

log = logging.getLogger(__name__)

Listener = Callable[[Change | None], None]

_generations = count(1)

MOST_NAMESPACES = 1000  # whose entries are kept in a list

K = TypeVar("K")
V = TypeVar("V")


class _Forgetful(dict[K, V]):
    """The memo of a cache that no longer gets changes: it remembers nothing, since nothing would empty it."""

    def __setitem__(self, key: K, value: V) -> None:
        """Remembers nothing."""


class ResourceCache:
    """The objects of one resource, by key and in key order, and their recent changes.

    `generation` changes each time the cache is emptied. No two caches of a process ever have the same generation.
    """

    def __init__(self, spec: ResourceSpec, start: int = 0) -> None:
        self.spec = spec
        self._received = RECEIVED.labels(*spec.group_resource)
        self.generation = next(_generations)
        self.closed = False  # whether it was unregistered, or another cache has replaced it
        self._former: ResourceCache | None = None  # the cache that it replaced, while watches on that are still open
        self.history = History(start)
        self._made_waiters: Waiters | None = None  # made by its first use, as the indexes: most resources need none
        self._indexes: Indexes | None = None
        self.changed = 0  # the revision of the last change
        self.readings = 0  # how often versions that could not be read became readable
        self.memo: dict[object, object] = {}  # answers made from the present state; emptied by each change
        self._of_namespaces: dict[str, Sequence[Entry]] = {}  # emptied by each change, too
        self._entries: dict[bytes, Entry] = {}
        self._keys: list[bytes] = []
        self._canonical = spec.head + METADATA
        self._listeners: tuple[Listener, ...] = ()
        self._dispatch = Dispatch(spec.group_resource)
        self._told = 0  # the position up to which waiters were woken

    @cached_property
    def concerning(self) -> Concerning:
        """Finds the changes of the history that concern an interest."""
        return Concerning(self.history, self.spec.labels_and_fields_of)

    @cached_property
    def undoings(self) -> Undoings:
        """The resource as it was at earlier revisions."""
        return Undoings()

    @property
    def _waiters(self) -> Waiters:
        if self._made_waiters is None:
            self._made_waiters = Waiters(self.spec.labels_and_fields_of, self._dispatch.sent)
        return self._made_waiters

    def __len__(self) -> int:
        return len(self._keys)

    def get(self, key: bytes) -> Entry | None:
        return self._entries.get(key)

    def entry(self, key: bytes, value: bytes, revision: int) -> Entry:
        """An entry of a value of etcd, brought into canonical form if another writer wrote it. Never raises."""
        if isinstance(value, Located):
            return self._shared(key, value, revision)
        if isinstance(value, UnreadableValue):
            return _corrupt(key, value, revision, ValueError(value.reason))
        head = self._head_of(value) if self.spec.trusts_marks else None
        outdated = head is not None and self.spec.outdated is not None and self.spec.outdated(value)
        if head is not None and not outdated:
            try:
                return entry_of(key, value, revision, head)
            except ValueError:
                pass  # it only looks canonical
        try:
            canonical = self.spec.canonicalise(value)
            head = self._head_of(canonical)
            if head is None:
                raise ValueError("it is stored in a version that is not known")
            if not is_of(canonical, len(head) + len(METADATA), *namespace_and_name(key, self.spec.prefix)):
                raise ValueError("its metadata is of no object of this name")
            if (outdated or not self.spec.trusts_marks) and value != canonical != escaped(value):
                return reread_entry(key, canonical, revision, head)
            return entry_of(key, canonical, revision, head)
        except Exception as error:  # no stored value may stop the feed
            return _corrupt(key, value, revision, error)

    def _shared(self, key: bytes, value: Located, revision: int) -> Entry:
        """An entry of a value in shared memory. A value that is not in canonical form gets an entry of its own."""
        outdated = self.spec.outdated
        if value.spliced and self.spec.trusts_marks and not (outdated is not None and outdated(value.raw())):
            if value.starts_with(self._canonical):
                return SharedEntry(key, self.spec.head, value, revision)
            for head in self.spec.other_heads:
                if value.starts_with(head + METADATA):
                    return SharedEntry(key, head, value, revision)
        entry = self.entry(key, value.raw(), revision)
        share(entry, value)
        return entry

    def locate(self, key: bytes, value: Located, revision: int) -> None:
        """Notes that an object version is in shared memory now; an entry that has this version uses it from there."""
        if self._former is not None:
            self._former.locate(key, value, revision)
        entry = self._entries.get(key)
        if entry is not None and entry.revision == revision:
            share(entry, value)

    def leave(self, segment: mmap) -> None:
        """Copies the entries of the history out of a segment of shared memory, which is about to be released."""
        for change in self.history.between(self.history.first, self.history.end):
            leave(change.entry, segment)
            leave(change.previous, segment)

    def _head_of(self, value: bytes) -> bytes | None:
        """The head of a canonical value; None for a value that is not canonical."""
        if value.endswith(MARK):
            if value.startswith(self._canonical):
                return self.spec.head
            for head in self.spec.other_heads:
                if value.startswith(head) and value.startswith(METADATA, len(head)):
                    return head
        return None

    def all_entries(self) -> Iterable[Entry]:
        """All entries, in no order."""
        return self._entries.values()

    def bounds(self, prefix: bytes) -> tuple[int, int]:
        """The range of indices, in key order, of the keys under a prefix."""
        if prefix == self.spec.prefix:
            return 0, len(self._keys)
        return bisect_left(self._keys, prefix), bisect_left(self._keys, prefix_end(prefix))

    def index_of(self, key: bytes) -> int:
        """The index of the first key that is not before `key`."""
        return bisect_left(self._keys, key)

    def of_namespace(self, namespace: str) -> Sequence[Entry]:
        """The entries of a namespace in key order. The answer is kept until the next change: do not change it.

        It is for resources with few objects that many writes look at.
        """
        if namespace in self._of_namespaces:
            return self._of_namespaces[namespace]
        if len(self._of_namespaces) >= MOST_NAMESPACES:
            self._of_namespaces.clear()
        first, last = self.bounds(b"%b%b/" % (self.spec.prefix, namespace.encode()))
        found = self._of_namespaces[namespace] = self.slice(first, last)
        return found

    def slice(self, start: int, end: int) -> list[Entry]:
        """The entries between two indices, in key order."""
        entries = self._entries
        return [entries[key] for key in self._keys[start:end]]

    def of_interest(self, prefix: bytes, interest: Interest | None) -> list[Entry] | None:
        """The entries under a prefix that an interest may select, in key order; None where no index finds them."""
        if interest is None:
            return None
        if interest.by is InterestKind.KEY:
            assert isinstance(interest.value, bytes)
            found = self._entries.get(interest.value)
            return [] if found is None else [found]
        if len(self._keys) < FEW:
            return None
        if self._indexes is None:
            self._indexes = Indexes(self.spec.labels_and_fields_of)
        keys = self._indexes.find(interest, self.all_keys, self.get)
        return None if keys is None else [self._entries[key] for key in keys if key.startswith(prefix)]

    def put(self, key: bytes, value: bytes, revision: int) -> None:
        """Applies a write of a key."""
        if self._former is not None:
            self._former.put(key, value, revision)
        entry = self.entry(key, value, revision)
        previous = self._entries.get(key)
        corrupt = type(entry) is CorruptEntry or type(previous) is CorruptEntry
        if previous is None:
            insort(self._keys, key)
            change = Change(ChangeType.ADDED, revision, entry, None, corrupt)
        else:
            change = Change(ChangeType.MODIFIED, revision, entry, previous, corrupt)
            if type(entry) is CorruptEntry:
                entry.last = previous.readable
        self._entries[key] = entry
        if self._indexes:
            self._indexes.put(key, entry)
        self._record(change)

    def remove(self, key: bytes, revision: int) -> None:
        """Applies a deletion of a key."""
        if self._former is not None:
            self._former.remove(key, revision)
        previous = self._entries.pop(key, None)
        if previous is None:
            return
        del self._keys[bisect_left(self._keys, key)]
        if self._indexes:
            self._indexes.remove(key)
        corrupt = type(previous) is CorruptEntry
        self._record(Change(ChangeType.DELETED, revision, previous.at(revision), previous, corrupt))

    def awaited(self) -> set[Entry]:
        """The versions that can't be read at present, but may become readable later, with those of the history."""
        return {entry for entry in self._entries.values() if is_awaited(entry)} | self.history.awaited()

    def exchange(self, read: Mapping[Entry, Entry]) -> None:
        """Replaces versions that could not be read (keys) by the readable ones (values), and wakes all watches."""
        for before, now in read.items():
            if self._entries.get(before.key) is before:
                self._entries[before.key] = now
                if self._indexes:
                    self._indexes.put(before.key, now)
        self.history.exchange(read)
        self.concerning.start_over()
        self.undoings = Undoings()
        self.readings += 1
        self._forget()
        self.tell(None)
        self.wake_all()

    def start_over(self) -> None:
        """Forgets everything; the positions of all watches are overrun."""
        if self._former is not None:
            self._former.start_over()
        self.generation = next(_generations)
        self.history.start_over()
        self.take({})

    def load(self, items: Iterable[tuple[bytes, bytes | Entry, int]]) -> None:
        """Fills the cache with values of etcd, or with entries that `entry` has made of them before.

        It replaces all objects, and reports no changes.
        """
        made = self.entry
        self.take({key: each if isinstance(each, Entry) else made(key, each, mod) for key, each, mod in items})

    def take(self, entries: dict[bytes, Entry]) -> None:
        """Replaces all objects, and reports no changes."""
        self._entries = entries
        self._keys = sorted(entries)
        if self._indexes is not None:
            self._indexes.clear()
        self.changed = max((entry.revision for entry in entries.values()), default=0)
        self._forget()

    def succeed(self, former: ResourceCache) -> None:
        """Replaces another cache. Changes are passed on to the former cache until `end_former`."""
        self._former = former
        former.closed = True

    def end_former(self) -> None:
        """Ends the former cache: it gets no more changes. Reads that began on it see the entries of this cache."""
        former, self._former = self._former, None
        if former is not None:
            former._entries, former._keys = self._entries, self._keys
            former.changed, former.memo = self.changed, _Forgetful()
            former._of_namespaces = _Forgetful()
            former.end_former()

    def all_keys(self) -> list[bytes]:
        """All keys, in order; a copy."""
        return list(self._keys)

    def changes(self, interest: Interest | None = None) -> Waiter:
        """A future that is done at the next change after this call. Give it to `forget` in the end.

        With an interest, only a change that may concern it counts. The result is the position in the history from which
        the caller has to look: earlier changes do not concern it. -1 means the position of the caller.
        """
        return self._waiters.add(interest)

    def forget(self, waiter: Waiter, interest: Interest | None = None) -> None:
        """Removes a future of `changes`."""
        self._waiters.remove(waiter, interest)

    def follow_changes(self, told: Told, interest: Interest | None = None) -> None:
        """After each change, calls `told` with the result that a future of `changes` would have, until
        `unfollow_changes`. The call comes in a later turn of the event loop. `told` must not raise.
        """
        self._waiters.follow(told, interest)

    def unfollow_changes(self, told: Told, interest: Interest | None = None) -> None:
        """Ends `follow_changes`."""
        self._waiters.unfollow(told, interest)

    def unserved(self, told: Told, interest: Interest | None = None) -> int:
        """The position of the first change that may concern a follower and was not reported to it; -1: its own."""
        return self._waiters.unserved(told, interest, self.history.end)

    def wake(self, received: float = 0.0) -> None:
        """Wakes the waiters of changes; the feed calls it once per batch, which it has `received` then (monotonic)."""
        if self._former is not None:
            self._former.wake(received)
        if received:
            self._dispatch.cached(received)
        history, waiters = self.history, self._made_waiters
        if waiters is not None and waiters.selective:
            start = max(self._told, history.first)
            waiters.tell(history.between(start, history.end), start)
        self._told = history.end
        if waiters is not None:
            waiters.wake()

    def wake_all(self) -> None:
        """Wakes all waiters, whatever their interest: the change that they wait for may never come."""
        if self._former is not None:
            self._former.wake_all()
        self._told = self.history.end
        if self._made_waiters is not None:
            self._made_waiters.wake_all()

    def listen(self, listener: Listener) -> Callable[[], None]:
        """As `add_listener`; returns a function that removes the listener."""
        self.add_listener(listener)
        return partial(self.remove_listener, listener)

    def add_listener(self, listener: Listener) -> None:
        """Calls `listener` with each change as it is applied, and with None after everything was loaded again."""
        self._listeners = (*self._listeners, listener)

    def remove_listener(self, listener: Listener) -> None:
        """Stops calling a listener."""
        self._listeners = tuple(each for each in self._listeners if each is not listener)

    def tell(self, change: Change | None) -> None:
        """Calls all listeners. An error of a listener is logged and counted; the feed goes on."""
        for listener in self._listeners:
            try:
                listener(change)
            except Exception:
                log.exception("a listener of the watch cache failed", extra={"prefix": self.spec.prefix.decode()})
                FAILURES.labels("listeners of changes").inc()

    def _record(self, change: Change) -> None:
        self.history.append(change)
        self._received.value += 1
        self.changed = change.revision
        if self.memo or self._of_namespaces:
            self._forget()
        if self._listeners:
            self.tell(change)

    def _forget(self) -> None:
        """Forgets the answers that were made from the former state."""
        self.memo.clear()
        self._of_namespaces.clear()


def _corrupt(key: bytes, value: bytes, revision: int, error: Exception) -> CorruptEntry:
    reason = str(error) or type(error).__name__
    log.error("stored object cannot be decoded", extra={"key": key.decode(errors="replace"), "error": reason})
    return CorruptEntry(key, value, revision, reason)
