"""The feeder's cache: instead of objects it keeps the place of each key's value in shared memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from storage.cache import ResourceCache
from storage.entry import MARK, Entry, LabelsAndFields, ResourceSpec, with_version
from storage.sharing.located_values import unreadable
from storage.sharing.records import DELETED, SPLICED, UNREADABLE, record
from storage.sharing.segments import Segment, Segments, ValueLocation
from storage.unowned_objects import raw_of
from storage.values import UnreadableValue
from storage.watch_cache import WatchCache

_END = b"}" + MARK  # of values that can be spliced: more white space before MARK would be lost


class Shelf(ResourceCache):
    """Takes the place of all resource caches in the feeder's feed: it has the place of each key's value."""

    def __init__(self, root: bytes) -> None:
        super().__init__(ResourceSpec(root, b"", bytes, _no_labels_and_fields))
        self.places: dict[bytes, ValueLocation] = {}
        self.segments = Segments()
        self.records: list[bytes] = []  # of changes that were not sent to the workers yet
        self.moved: list[bytes] = []
        self.retired: list[int] = []
        self.flush: Callable[[], None] = _nothing
        self.drop: Callable[[], None] = _nothing

    def __len__(self) -> int:
        return len(self.places)

    def get(self, key: bytes) -> ValueLocation | None:  # type: ignore[override]  # has a revision, as an entry
        return self.places.get(key)

    def write(self, key: bytes, value: bytes, revision: int) -> ValueLocation:
        """Writes a value to shared memory, unless it is there already.

        It compares values too: a restored etcd may have another value at the same revision.
        """
        found = self.places.get(key)
        if found is not None and found.revision == revision and found == value:
            return found
        if isinstance(value, UnreadableValue):
            return self.segments.write(key, unreadable(value), UNREADABLE, revision)
        try:
            spliced = with_version(value, revision)[:-1] if value.endswith(_END) else None
        except ValueError:
            spliced = None
        if spliced is None:
            return self.segments.write(key, value, 0, revision)
        return self.segments.write(key, spliced, SPLICED, revision)

    def put(self, key: bytes, value: bytes | ValueLocation, revision: int) -> None:
        place = value if isinstance(value, ValueLocation) else self.write(key, value, revision)
        before = self.places.get(key)
        if before is not None and before is not place:
            self.segments.release(before)
        self.places[key] = place
        self.records.append(located(key, place))

    def remove(self, key: bytes, revision: int) -> None:
        before = self.places.pop(key, None)
        if before is not None:
            self.segments.release(before)
        self.records.append(record(key, DELETED, 0, 0, 0, revision))

    def load(self, items: Iterable[tuple[bytes, bytes | Entry | ValueLocation, int]]) -> None:
        for key, value, revision in items:
            self.places[key] = value if isinstance(value, ValueLocation) else self.write(key, raw_of(value), revision)
        self.segments.recount(self.places.values())

    def all_keys(self) -> list[bytes]:
        return list(self.places)

    def has_unreadable(self) -> bool:
        """Whether there is a value that could not be decrypted."""
        return any(place.flags & UNREADABLE for place in self.places.values())

    def forget_unused(self) -> None:
        """Gives up the segments without a used value: those of a load that failed."""
        self.segments.recount(self.places.values())
        for segment in list(self.segments):
            if segment.sealed and not segment.live:
                self._give_up(segment)

    def start_over(self) -> None:
        self.places.clear()
        self.wake_all()

    def wake(self, received: float = 0.0) -> None:
        self._tidy()
        self.flush()

    def wake_all(self) -> None:
        """Drops all connections after everything was loaded anew: the workers have to begin again."""
        self.records.clear()
        self.moved.clear()
        self.retired.clear()
        self.drop()

    def _tidy(self) -> None:
        """Copies the used values out of segments with too many unused bytes, and gives these up."""
        while (segment := self.segments.emptiest()) is not None:
            self._empty(segment)

    def _empty(self, segment: Segment) -> None:
        for key in segment.keys:
            place = self.places.get(key)
            if place is not None and place.segment is segment:
                text = segment.map[place.start : place.end]
                moved = self.places[key] = self.segments.write(key, text, place.flags, place.revision)
                self.segments.release(place)
                self.moved.append(located(key, moved))
        self._give_up(segment)

    def _give_up(self, segment: Segment) -> None:
        self.segments.give_up(segment)
        self.retired.append(segment.number)


class PublishedCache(WatchCache):
    """A watch cache whose only resource cache is a shelf, for the feeder's feed."""

    def __init__(self, root: bytes) -> None:
        super().__init__(root)
        self.shelf = Shelf(root)
        self.add(self.shelf)

    def of_key(self, key: bytes) -> ResourceCache | None:
        return self.shelf

    def begin_load(self, anew: bool) -> None:
        self.shelf.forget_unused()

    def kept(self, key: bytes, value: bytes, revision: int) -> bytes:
        return self.shelf.write(key, value, revision)  # type: ignore[return-value]  # `load` accepts a Location

    def advance(self, revision: int) -> None:
        super().advance(revision)
        if not self.shelf.records:
            self.shelf.flush()


def located(key: bytes, place: ValueLocation) -> bytes:
    """The record of a value's place."""
    return record(key, place.flags, place.segment.number, place.start, place.end, place.revision)


def _no_labels_and_fields(_: object) -> LabelsAndFields:
    """No labels and no fields: a shelf has no objects."""
    return LabelsAndFields({}, {})


def _nothing() -> None:
    """Does nothing, until a publisher sets its callbacks."""
