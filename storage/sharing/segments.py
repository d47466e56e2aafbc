"""The shared memory that the feeder writes values into, one after the other.

A segment is never written to again where something is. When too much of all segments is no longer in use, what is in
use of the emptiest one is written anew elsewhere, and the segment is given up: the kernel frees its memory once no
process has it mapped any more.
"""

from __future__ import annotations

import mmap
import os
import weakref
from collections.abc import Iterable, Iterator

from storage.sharing.located import value_at

SIZE = 8 << 20  # bytes of a segment; a value that is larger has one for itself
WASTE = 0.25  # of what is in use: how much may be taken up by what is not


class Segment:
    """Memory of the feeder's that other processes map for reading by its descriptor."""

    def __init__(self, number: int, size: int) -> None:
        self.number, self.size = number, size
        self.descriptor = os.memfd_create(f"apiserver-gateway-{number}", os.MFD_CLOEXEC)
        weakref.finalize(self, os.close, self.descriptor)
        os.ftruncate(self.descriptor, size)
        self.map = mmap.mmap(self.descriptor, size)
        self.used = self.live = 0  # bytes
        self.sealed = False  # whether nothing more is written here
        self.keys: list[bytes] = []  # of the values that were written here


class Place:
    """Where the value of a key is, with the flags of its record; immutable."""

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
        self._live = self._waste = 0  # bytes in use in all, and bytes of sealed segments that are not
        self.made: list[Segment] = []  # since somebody looked last

    def __iter__(self) -> Iterator[Segment]:
        yield from self._sealed.values()
        if self._current is not None:
            yield self._current

    def write(self, key: bytes, text: bytes, flags: int, revision: int) -> Place:
        """Writes a value. Raises OSError where there is no memory."""
        segment, size = self._current, len(text)
        if segment is None or segment.used + size > segment.size:
            segment = self._another(size)
        start = segment.used
        segment.used = end = start + size
        segment.map[start:end] = text
        segment.live += size
        self._live += size
        segment.keys.append(key)
        return Place(segment, start, end, flags, revision)

    def release(self, place: Place) -> None:
        """A value is no longer in use."""
        size = place.end - place.start
        place.segment.live -= size
        self._live -= size
        if place.segment.sealed:
            self._waste += size

    def emptiest(self) -> Segment | None:
        """The segment to be given up next, None while not too much is wasted."""
        if self._waste <= WASTE * self._live + self._size or not self._sealed:
            return None
        return min(self._sealed.values(), key=lambda each: each.live / each.size)

    def give_up(self, segment: Segment) -> None:
        """Forgets a segment; whoever has it mapped still has what is there."""
        if self._sealed.pop(segment.number, None) is not None:
            self._waste -= segment.size - segment.live

    def recount(self, places: Iterable[Place]) -> None:
        """These are all values that are in use."""
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
