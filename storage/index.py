"""Finds the objects of a resource that have one exact value of a field or label.

Going through all pods for each of thousands of kubelets takes seconds; kube-apiserver indexes pods by node for the same
reason. An index of a field or label is made once it was asked for often, in short time slices, and is kept up to date
after that. A resource has a few of them; a new one replaces the one that was not used for the longest time.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable

from storage.entry import CorruptEntry, Entry, LabelsAndFieldsOf
from storage.time_slice import TimeSlice
from storage.waking import Aspect, By, Interest

FEW = 256  # objects that are as quickly gone through
MANY = 1000  # objects of one value; with more an index saves little
OFTEN = 8  # times that an aspect is asked for before it gets an index
MOST = 4  # indexes of a resource, and
ASKED = 64  # aspects that are counted


class Index:
    """The keys of objects by one field or label. Those that can't be read may have any value."""

    def __init__(self, aspect: Aspect, labels_and_fields_of: LabelsAndFieldsOf) -> None:
        self.ready = False
        self._by, self._name = aspect
        self._labels_and_fields_of = labels_and_fields_of
        self._values: dict[bytes, str | None] = {}
        self._keys: dict[str | None, set[bytes]] = {}

    def put(self, key: bytes, entry: Entry) -> None:
        """A key has this version now."""
        value = None
        if type(entry) is not CorruptEntry:
            attributes = entry.labels_and_fields(self._labels_and_fields_of)
            value = (attributes.fields if self._by is By.FIELD else attributes.labels).get(self._name, "")
        if key in self._values:
            if self._values[key] == value:
                return
            self.remove(key)
        self._values[key] = value
        self._keys.setdefault(value, set()).add(key)

    def remove(self, key: bytes) -> None:
        """A key is gone."""
        if key in self._values:
            value = self._values.pop(key)
            keys = self._keys[value]
            keys.discard(key)
            if not keys:
                del self._keys[value]

    def find(self, value: str) -> list[bytes] | None:
        """The keys of a value, in order, with those of objects that can't be read; None for too many."""
        none: set[bytes] = set()
        found, unreadable = self._keys.get(value, none), self._keys.get(None, none)
        return sorted(found | unreadable) if len(found) + len(unreadable) <= MANY else None


class Indexes:
    """The indexes of one resource."""

    def __init__(self, labels_and_fields_of: LabelsAndFieldsOf) -> None:
        self._labels_and_fields_of = labels_and_fields_of
        self._asked: OrderedDict[Aspect, int] = OrderedDict()
        self._made: OrderedDict[Aspect, Index] = OrderedDict()
        self._making: set[asyncio.Task[None]] = set()

    def __bool__(self) -> bool:
        return bool(self._made)

    def put(self, key: bytes, entry: Entry) -> None:
        """A key has this version now."""
        for index in self._made.values():
            index.put(key, entry)

    def remove(self, key: bytes) -> None:
        """A key is gone."""
        for index in self._made.values():
            index.remove(key)

    def clear(self) -> None:
        """Everything is to be read anew."""
        self._made.clear()
        for task in self._making:
            task.cancel()

    def find(
        self, interest: Interest, keys: Callable[[], Iterable[bytes]], get: Callable[[bytes], Entry | None]
    ) -> list[bytes] | None:
        """The keys of an exact value, in order; None while all have to be looked at.

        `keys` and `get` give what an index is made of, if this is where it becomes worth it.
        """
        if interest.by not in (By.FIELD, By.LABEL):
            return None
        aspect = interest[:2]
        index = self._made.get(aspect)
        if index is None:
            if self._is_often_asked(aspect):
                self._begin(aspect, list(keys()), get)
            return None
        self._made.move_to_end(aspect)
        return index.find(str(interest.value)) if index.ready else None

    def _is_often_asked(self, aspect: Aspect) -> bool:
        count = self._asked.pop(aspect, 0) + 1
        self._asked[aspect] = count
        if len(self._asked) > ASKED:
            self._asked.popitem(last=False)
        return count >= OFTEN

    def _begin(self, aspect: Aspect, keys: list[bytes], get: Callable[[bytes], Entry | None]) -> None:
        del self._asked[aspect]
        if len(self._made) >= MOST:
            self._made.popitem(last=False)
        index = self._made[aspect] = Index(aspect, self._labels_and_fields_of)
        task = asyncio.get_running_loop().create_task(_make(index, keys, get))
        self._making.add(task)
        task.add_done_callback(self._making.discard)


async def _make(index: Index, keys: list[bytes], get: Callable[[bytes], Entry | None]) -> None:
    piece = TimeSlice()
    for number, key in enumerate(keys):
        entry = get(key)
        if entry is not None:
            index.put(key, entry)
        if not number & 63 and piece.over():
            await piece.next()
    index.ready = True
