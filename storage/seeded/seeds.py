"""The objects that a part of etcd begins with. Most of them never change, so they are not stored for each part.

A part has them from the revision of one key on, the key `born`. The first change of one of them, an update or a
deletion, also writes a mark: a key of its own. From then on, the object exists only if etcd has it. So at each revision
of etcd, the objects of a part are those that are stored, and the seeds without a mark.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator

from storage.etcd import KeyValue
from storage.seeded.contents import Contents
from storage.unowned_objects import Values, raw_of

BORN = b"apiserver-gateway/made"
"""Below the root of a part: the key with the name of the template that the part begins with. A restore writes it again.
"""

MARKS = b"apiserver-gateway/changed/"
"""Below the root of a part; the rest of a mark is the key of the seed below the root."""


class Seeds:
    """The seeds of one part."""

    def __init__(self, root: bytes, born: KeyValue, contents: Contents, value_of: Callable[[int], bytes]) -> None:
        """The keys of the contents are below the root; `value_of` makes the value of the one at a place among them."""
        self.root, self.born, self.revision = root, born, born.mod_revision
        self.since = born.mod_revision if born.version > 1 else 0
        """The revision of a restore, before which the part had other objects; 0 if there was none."""
        self.contents, self._keys, self._value_of = contents, contents.keys, value_of
        self._first_mark = root + MARKS

    def place(self, key: bytes) -> int:
        """The place of the seed of a key; -1 for a key of none."""
        if not key.startswith(self.root):
            return -1
        below = key[len(self.root) :]
        place = bisect_left(self._keys, below)
        return place if place < len(self._keys) and self._keys[place] == below else -1

    def get(self, key: bytes) -> KeyValue | None:
        """A seed as etcd would have it; None for another key."""
        place = self.place(key)
        return None if place < 0 else self._at(place)

    def keys(self) -> Iterator[bytes]:
        """The keys of all seeds, in order."""
        return (self.root + key for key in self._keys)

    def value(self, place: int) -> bytes:
        """The value of the seed at a place."""
        return self._value_of(place)

    def between(self, start: bytes, end: bytes) -> list[bytes]:
        """The keys of seeds in a range of etcd, in order; an empty end stands for `start` alone."""
        if not end:
            return [start] if self.place(start) >= 0 else []
        return [self.root + key for key in self._keys[self._bound(start) : self._bound(end)]]

    def all_between(self, start: bytes, end: bytes) -> list[KeyValue]:
        """As `between`, with their values."""
        return [self._at(place) for place in range(self._bound(start), self._bound(end))]

    def _bound(self, key: bytes) -> int:
        if key.startswith(self.root):
            return bisect_left(self._keys, key[len(self.root) :])
        return 0 if key < self.root else len(self._keys)

    def _at(self, place: int) -> KeyValue:
        return KeyValue(self.root + self._keys[place], self._value_of(place), self.revision, self.revision, 1)

    def mark_of(self, key: bytes) -> bytes:
        """The mark of a seed's key."""
        return self._first_mark + key[len(self.root) :]

    def of_mark(self, mark: bytes) -> bytes | None:
        """The key of the seed that a mark is of; None for another key."""
        return self.root + mark[len(self._first_mark) :] if mark.startswith(self._first_mark) else None


def is_replaced(seeds: Seeds | None, root: bytes, stored: Values) -> bool:
    """Whether a part has another beginning than its seeds, or none. `stored` has the keys in etcd below its root."""
    if (born := stored.get(root + BORN)) is None:
        return False
    value, revision = born
    return bool(raw_of(value)) if seeds is None else revision != seeds.revision
