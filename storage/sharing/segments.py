"""The segments of shared memory into which the feeder writes values, one after the other.

The feeder never overwrites a byte of a segment. When the unused values take too much memory, it copies the used values
of the emptiest segment to another one and gives the segment up. The kernel frees the memory once no process has it
mapped any more.
"""

from __future__ import annotations

import mmap
import os
import weakref
from collections.abc import Iterable, Iterator

from storage.sharing.located_values import value_at

SIZE = 8 << 20  # bytes of a segment; a larger value has a segment of its own
WASTE = 0.25  # unused bytes that are tolerated, as a share of the used ones


class Segment:
    """Memory of the feeder. Other processes get its file descriptor and map it for reading."""

    def __init__(self, number: int, size: int) -> None:
        self.number, self.size = number, size
        self.descriptor = os.memfd_create(f"apiserver-gateway-{number}", os.MFD_CLOEXEC)
        weakref.finalize(self, os.close, self.descriptor)
        os.ftruncate(self.descriptor, size)
        self.map = mmap.mmap(self.descriptor, size)
        self.used = self.live = 0  # bytes
        self.sealed = False  # whether it is full: no more values are written here
        self.keys: list[bytes] = []  # of the values that were written here


class ValueLocation:
    """The place of a value, with the flags of its record; immutable."""

    __slots__ = ("end", "flags", "revision", "segment", "start")

    def __init__(self, segment: Segment, start: int, end: int, flags: int, revision: int) -> None:
        self.segment, self.start, self.end, self.flags, self.revision = segment, start, end, flags, revision

    def __eq__(self, other: object) -> bool:
        return value_at(self.segment.map, self.start, self.end, self.flags) == other

    __hash__ = None  # type: ignore[assignment]  # as Located


class Segments:
    """All segments, of which one is being filled."""

    def __init__(self, size: int = SIZE) -> None:
        self._size, self._last = size, 0
        self._current: Segment | None = None
        self._sealed: dict[int, Segment] = {}
        self._live = self._waste = 0  # used bytes of all segments, and unused bytes of sealed ones
        self.made: list[Segment] = []  # new segments that were not announced to the workers yet

    def __iter__(self) -> Iterator[Segment]:
        yield from self._sealed.values()
        if self._current is not None:
            yield self._current

    def write(self, key: bytes, text: bytes, flags: int, revision: int) -> ValueLocation:
        """Writes a value. Raises OSError if there is no memory."""
        segment, size = self._current, len(text)
        if segment is None or segment.used + size > segment.size:
            segment = self._another(size)
        start = segment.used
        segment.used = end = start + size
        segment.map[start:end] = text
        segment.live += size
        self._live += size
        segment.keys.append(key)
        return ValueLocation(segment, start, end, flags, revision)

    def release(self, place: ValueLocation) -> None:
        """Notes that a value is no longer used."""
        size = place.end - place.start
        place.segment.live -= size
        self._live -= size
        if place.segment.sealed:
            self._waste += size

    def emptiest(self) -> Segment | None:
        """The segment to give up next; None while the unused bytes are within `WASTE`."""
        if self._waste <= WASTE * self._live + self._size or not self._sealed:
            return None
        return min(self._sealed.values(), key=lambda each: each.live / each.size)

    def give_up(self, segment: Segment) -> None:
        """Forgets a segment. Processes that have it mapped can still read it."""
        if self._sealed.pop(segment.number, None) is not None:
            self._waste -= segment.size - segment.live

    def recount(self, places: Iterable[ValueLocation]) -> None:
        """Counts the used bytes anew; `places` are all values in use."""
        for segment in self:
            segment.live = 0
        self._live = 0
        for place in places:
            place.segment.live += place.end - place.start
            self._live += place.end - place.start
        self._waste = sum(segment.size - segment.live for segment in self._sealed.values())

    def _another(self, size: int) -> Segment:
        current = self._current
        if current is not None:
            self._sealed[current.number] = current
            self._waste += current.size - current.live
            current.sealed = True
        self._last += 1
        self._current = Segment(self._last, max(size, self._size))
        self.made.append(self._current)
        return self._current
