"""A watch as it would be if the seeds of a part were stored.

It watches the whole part. The creation of the key `born` stands for the creation of all seeds; a mark without a put of
its seed, for the deletion; and the put beside a new mark is an update.
"""

from __future__ import annotations

from storage.etcd import DELETE, PUT, KeyEvent, KeyValue, Watch, WatchBatch
from storage.seeded.seeds import Seeds


class SeededWatch(Watch):
    """A watch of the keys in [key, range_end)."""

    def __init__(self, whole: Watch, seeds: Seeds, key: bytes, range_end: bytes) -> None:
        """`whole` watches the part, and is not started."""
        super().__init__(whole._watches, whole._request, whole._own_stream)
        self._seeds, self._key, self._end = seeds, key, range_end

    async def __anext__(self) -> WatchBatch:
        batch = await super().__anext__()
        return batch._replace(events=self._as_stored(batch.events)) if batch.events else batch

    def _as_stored(self, events: list[KeyEvent]) -> list[KeyEvent]:
        told: list[KeyEvent] = []
        marks = first_marks(self._seeds, events)
        for event in events:
            kv, seeds = event.kv, self._seeds
            if kv.key == seeds.born.key and event.type == PUT and kv.version == 1:
                told += [KeyEvent(PUT, each, None) for each in seeds.all_between(self._key, self._end)]
                continue
            mark = seeds.of_mark(kv.key)
            if mark is not None:
                if (mark, kv.mod_revision) in marks and self._is_watched(mark):
                    told.append(deletion(mark, kv.mod_revision, seeds))
            elif self._is_watched(kv.key):
                told.append(self._update(event) if (kv.key, -kv.mod_revision) in marks else event)
        return told

    def _is_watched(self, key: bytes) -> bool:
        return self._key <= key < self._end if self._end else key == self._key

    def _update(self, event: KeyEvent) -> KeyEvent:
        before = self._seeds.get(event.kv.key)
        return KeyEvent(PUT, event.kv._replace(version=2, create_revision=self._seeds.revision), before)


def first_marks(seeds: Seeds, events: list[KeyEvent]) -> set[tuple[bytes, int]]:
    """The seeds that these events, which are of whole revisions, change first: each key with the revision of its
    deletion, or with the negative one of its update.
    """
    marked = {
        (key, event.kv.mod_revision)
        for event in events
        if event.type == PUT and event.kv.version == 1 and (key := seeds.of_mark(event.kv.key)) is not None
    }
    if not marked:
        return marked
    put = {(event.kv.key, event.kv.mod_revision) for event in events if event.type == PUT}
    return {(key, -revision if (key, revision) in put else revision) for key, revision in marked}


def deletion(key: bytes, revision: int, seeds: Seeds) -> KeyEvent:
    """The event of the deletion of a seed."""
    return KeyEvent(DELETE, KeyValue(key, b"", revision, 0, 0), seeds.get(key))
