"""Entries of seeds. A process has one for each seed of each part, and their texts are nearly equal in all parts."""

from __future__ import annotations

from storage.entry import Entry, entry_of
from storage.seeded.seeds import Seeds

_TAIL = "tail"
_held = Entry.__dict__["tail"].__get__  # the slot of an entry, where a SeededEntry has its text, or None
_hold = Entry.__dict__["tail"].__set__


class SeededEntry(Entry):
    """A seed as it was at the beginning. Once its text is dropped, the seeds make it again when it is read, and it is
    remembered as long as the memos have room for it.
    """

    __slots__ = ("_seeds",)

    def __init__(self, of: Entry, seeds: Seeds) -> None:
        """`of` is the same version; `seeds` have its key."""
        self.key, self.head, self.revision, self._seeds = of.key, of.head, of.revision, seeds
        self._labels_and_fields = self._memo = None
        _hold(self, of.tail)

    @property
    def tail(self) -> bytes:  # type: ignore[override]  # made on demand
        found: bytes | None = _held(self)
        return self._made() if found is None else found

    @property
    def piece(self) -> bytes:  # type: ignore[override]  # as the tail
        return self.tail

    def _made(self) -> bytes:
        found = self.recall(_TAIL)
        if found is None:
            found = entry_of(self.key, self._seeds.value(self.key), self.revision, self.head).tail
            self.remember(_TAIL, found, len(found))
        assert isinstance(found, bytes), "it was remembered here"
        return found

    def drop_text(self) -> None:
        """Frees its text."""
        _hold(self, None)


def seeded(entry: Entry, value: bytes, seeds: Seeds) -> Entry:
    """The entry of a value of etcd; a `SeededEntry` if it is the seed of its key, in the form in which it is stored."""
    if type(entry) is not Entry or entry.revision != seeds.revision or seeds.place(entry.key) < 0:
        return entry
    if not value.startswith(entry.head) or entry_of(entry.key, value, entry.revision, entry.head).tail != entry.tail:
        return entry  # it was brought into canonical form
    return SeededEntry(entry, seeds)
