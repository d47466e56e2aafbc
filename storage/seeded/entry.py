"""Entries of seeds. A process has one for each seed of each part, and their texts are nearly equal in all parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from storage.entry import Entry, entry_of
from storage.seeded.seeds import Seeds

T = TypeVar("T")

_TAIL, _SIZE = "tail", "size"


class SeededEntry(Entry):
    """A seed as it was at the beginning. It has no text. The seeds make the text when it is read, and the memos keep it
    as long as they have room.
    """

    __slots__ = ("_place", "_seeds")

    def __init__(self, key: bytes, head: bytes, seeds: Seeds, place: int) -> None:
        """The seed at this place is stored with this `head`, in canonical form."""
        self.key, self.head, self.revision, self._seeds, self._place = key, head, seeds.revision, seeds, place
        self._labels_and_fields = self._memo = None

    @property
    def tail(self) -> bytes:  # type: ignore[override]  # made on demand
        found = self.recall(_TAIL)
        if found is None:
            found = entry_of(self.key, self._seeds.value(self._place), self.revision, self.head).tail
            self.remember(_TAIL, found, len(found))
        assert isinstance(found, bytes), "it was remembered here"
        return found

    @property
    def piece(self) -> bytes:  # type: ignore[override]  # as the tail
        return self.tail

    @property
    def size(self) -> int:
        return self._seeds.contents.derived(self._place, _SIZE, self._size) + len(str(self.revision))

    def _size(self) -> int:
        """The bytes of the text without the digits of the revision: uids and times have the same length everywhere."""
        return len(self.tail) - len(str(self.revision))

    def derived(self, key: object, make: Callable[[dict[str, Any]], T]) -> T:
        return self._seeds.contents.derived(self._place, key, lambda: make(self.parsed()))


def seeded(entry: Entry, value: bytes, seeds: Seeds, place: int) -> Entry:
    """The entry of the value of the seed at a place; a `SeededEntry` if that is the form in which it is stored."""
    if type(entry) is not Entry or entry.revision != seeds.revision:
        return entry
    if not value.startswith(entry.head) or entry_of(entry.key, value, entry.revision, entry.head).tail != entry.tail:
        return entry  # it was brought into canonical form
    return SeededEntry(entry.key, entry.head, seeds, place)
