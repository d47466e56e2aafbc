"""Fills the histories of the caches at a start, with the changes of the last minutes that etcd still has.

So clients of a restarted server continue their watches from the cache, without reads of etcd's history.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable

from storage.cache import ResourceCache
from storage.entry import Change, ChangeType, CorruptEntry, Entry
from storage.errors import Compacted, StorageError
from storage.etcd import DELETE, EtcdClient, KeyEvent, KeyValue
from storage.etcd.watch import Watch
from storage.keys import prefix_end
from storage.time_slice import TimeSlice
from storage.watch_cache import WatchCache

REVISIONS = 10_000
BYTES = 64 << 20  # of the values of all events that are kept
WAIT = 2.0  # seconds for etcd to send the events
ASK_AGAIN = 0.02  # seconds between progress requests
WORK = 1.0  # seconds in which the events are made into changes; the rest is left out

EntryOf = Callable[[KeyValue], Entry]


def change_of(event: KeyEvent, entry_of: EntryOf) -> Change:
    """The change of an event that has its previous value (prev_kv).

    Raises Compacted if etcd no longer has the previous value.
    """
    kv, before = event.kv, event.prev_kv
    if event.type != DELETE and kv.version == 1:
        entry = entry_of(kv)
        return Change(ChangeType.ADDED, kv.mod_revision, entry, None, isinstance(entry, CorruptEntry))
    if before is None:
        raise Compacted(kv.mod_revision, kv.mod_revision)
    previous = entry_of(before)
    if event.type == DELETE:
        corrupt = isinstance(previous, CorruptEntry)
        return Change(ChangeType.DELETED, kv.mod_revision, previous.at(kv.mod_revision), previous, corrupt)
    entry = entry_of(kv)
    corrupt = isinstance(entry, CorruptEntry) or isinstance(previous, CorruptEntry)
    return Change(ChangeType.MODIFIED, kv.mod_revision, entry, previous, corrupt)


async def seed(client: EtcdClient, cache: WatchCache, revision: int) -> None:
    """Fills the empty histories of caches that were loaded at a revision. If etcd fails they stay empty."""
    if revision <= 1:  # a new etcd: nothing has happened yet
        return
    try:
        async with asyncio.timeout(WAIT):
            start, events = await _events(client, cache.root, revision)
    except (StorageError, TimeoutError):
        return
    start, found = await _changes(cache, start, events)
    for resource in cache:
        resource.history.seed(start, found.get(resource, []))


async def _events(client: EtcdClient, root: bytes, revision: int) -> tuple[int, deque[KeyEvent]]:
    """The events up to `revision`, and the revision after which they are complete. Raises StorageError."""
    start = max(0, revision - REVISIONS)
    try:
        return await _told(client, root, start, revision)
    except Compacted as error:
        return await _told(client, root, error.compact_revision, revision)


async def _told(client: EtcdClient, root: bytes, start: int, revision: int) -> tuple[int, deque[KeyEvent]]:
    events: deque[KeyEvent] = deque()
    size = 0
    end = prefix_end(root)
    asking: asyncio.Task[None] | None = None
    watch = client.watch(root, end, start_revision=start + 1, prev_kv=True, own_stream=True)
    try:
        await watch.start()
        if not await watch.progress_correct():
            return revision, deque()
        asking = asyncio.create_task(_ask_for_progress(watch))
        async for batch in watch:
            for event in batch.events:
                if event.kv.mod_revision <= revision:
                    events.append(event)
                    size += _size(event)
            while size > BYTES:
                start, size = events[0].kv.mod_revision, size - _size(events.popleft())
            if batch.revision >= revision:
                break
        return start, events
    finally:
        if asking is not None:
            asking.cancel()
        await watch.cancel()


async def _ask_for_progress(watch: Watch) -> None:
    """Requests progress again and again: etcd ignores a request while a new watch has not caught up yet."""
    while True:
        await watch.request_progress()
        await asyncio.sleep(ASK_AGAIN)


def _size(event: KeyEvent) -> int:
    return len(event.kv.value) + (len(event.prev_kv.value) if event.prev_kv else 0)


async def _changes(
    cache: WatchCache, start: int, events: deque[KeyEvent]
) -> tuple[int, dict[ResourceCache, list[Change]]]:
    """Changes by resource, newest first, and the revision after which they are complete. It stops after `WORK` s."""
    found: dict[ResourceCache, list[Change]] = {}
    made: dict[tuple[bytes, int], Entry] = {}
    piece, deadline = TimeSlice(), time.monotonic() + WORK
    for event in reversed(events):
        resource = cache.of_key(event.kv.key)
        if resource is None:
            continue
        if piece.over():
            await piece.next()
            if time.monotonic() > deadline:
                return event.kv.mod_revision, found
        try:
            change = change_of(event, _remembering(resource, made))
        except Compacted:
            return event.kv.mod_revision, found
        found.setdefault(resource, []).append(change)
    return start, found


def _remembering(resource: ResourceCache, made: dict[tuple[bytes, int], Entry]) -> EntryOf:
    """Makes the entry of each version once: a version is the new one of a change, and the previous one of the next."""

    def entry_of(kv: KeyValue) -> Entry:
        at = kv.key, kv.mod_revision
        found = made.pop(at, None) or resource.get(kv.key)
        if found is None or found.revision != kv.mod_revision:
            found = resource.entry(kv.key, kv.value, kv.mod_revision)
        made[at] = found
        return found

    return entry_of
