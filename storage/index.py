"""Finds the objects of a resource that have one exact value of a field or label.

A scan of all pods for each of thousands of kubelets takes seconds; kube-apiserver indexes pods by node for the same
reason. An index is built when lists have often selected by a field or label: in the background, in short time slices.
It is kept up to date after that. A resource has a few indexes; a new one replaces the least recently used one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from storage.entry import CorruptEntry, Entry, LabelsAndFieldsOf
from storage.time_slice import TimeSlice
from storage.waiters import Aspect, Interest, InterestKind

FEW = 256  # with fewer objects a scan is as quick as an index
MANY = 1000  # with more objects of one value, a scan is as good
OFTEN = 8  # requests with an aspect (By and the name of a field or label) before the aspect gets an index
MOST = 4  # indexes per resource
ASKED = 64  # aspects per resource whose requests are counted


class Index:
    """The keys of objects by the value of one field or label.

    An unreadable object is found under every value, because its value is unknown.
    """

    def __init__(self, aspect: Aspect, labels_and_fields_of: LabelsAndFieldsOf) -> None:
        self.ready = False
        self._by, self._name = aspect
        self._labels_and_fields_of = labels_and_fields_of
        self._values: dict[bytes, str | None] = {}
        self._keys: dict[str | None, set[bytes]] = {}

    def put(self, key: bytes, entry: Entry) -> None:
        """Notes the new version of a key."""
        value = None
        if type(entry) is not CorruptEntry:
            attributes = entry.labels_and_fields(self._labels_and_fields_of)
            value = (attributes.fields if self._by is InterestKind.FIELD else attributes.labels).get(self._name, "")
        if key in self._values:
            if self._values[key] == value:
                return
            self.remove(key)
        self._values[key] = value
        self._keys.setdefault(value, set()).add(key)

    def remove(self, key: bytes) -> None:
        """Notes that a key was deleted."""
        if key in self._values:
            value = self._values.pop(key)
            keys = self._keys[value]
            keys.discard(key)
            if not keys:
                del self._keys[value]

    def find(self, value: str) -> list[bytes] | None:
        """The keys of objects with a value, in order, and those of unreadable objects; None if there are too many."""
        none: set[bytes] = set()
        found, unreadable = self._keys.get(value, none), self._keys.get(None, none)
        return sorted(found | unreadable) if len(found) + len(unreadable) <= MANY else None


class Indexes:
    """The indexes of one resource."""

    def __init__(self, labels_and_fields_of: LabelsAndFieldsOf) -> None:
        self._labels_and_fields_of = labels_and_fields_of
        # plain dicts: empty ones are smallest, and a process may have ten thousands of these objects
        self._asked: dict[Aspect, int] = {}
        self._made: dict[Aspect, Index] = {}  # the last one used comes last
        self._making: dict[asyncio.Task[None], None] = {}

    def __bool__(self) -> bool:
        return bool(self._made)

    def put(self, key: bytes, entry: Entry) -> None:
        """Notes the new version of a key."""
        for index in self._made.values():
            index.put(key, entry)

    def remove(self, key: bytes) -> None:
        """Notes that a key was deleted."""
        for index in self._made.values():
            index.remove(key)

    def clear(self) -> None:
        """Drops all indexes, because all objects were replaced."""
        self._made.clear()
        for task in self._making:
            task.cancel()

    def find(
        self, interest: Interest, keys: Callable[[], Iterable[bytes]], get: Callable[[bytes], Entry | None]
    ) -> list[bytes] | None:
        """The keys of the objects with the interest's value, in order.

        None if there is no index yet, or if too many objects have the value: the caller must scan all objects. `keys`
        and `get` are used to build an index, once the aspect was requested often enough.
        """
        if interest.by not in (InterestKind.FIELD, InterestKind.LABEL):
            return None
        aspect = interest[:2]
        index = self._made.get(aspect)
        if index is None:
            if self._is_often_asked(aspect):
                self._begin(aspect, list(keys()), get)
            return None
        self._made[aspect] = self._made.pop(aspect)
        return index.find(str(interest.value)) if index.ready else None

    def _is_often_asked(self, aspect: Aspect) -> bool:
        count = self._asked.pop(aspect, 0) + 1
        self._asked[aspect] = count
        if len(self._asked) > ASKED:
            del self._asked[next(iter(self._asked))]
        return count >= OFTEN

    def _begin(self, aspect: Aspect, keys: list[bytes], get: Callable[[bytes], Entry | None]) -> None:
        del self._asked[aspect]
        if len(self._made) >= MOST:
            del self._made[next(iter(self._made))]
        index = self._made[aspect] = Index(aspect, self._labels_and_fields_of)
        task = asyncio.get_running_loop().create_task(_make(index, keys, get))
        self._making[task] = None
        task.add_done_callback(self._making.pop)


async def _make(index: Index, keys: list[bytes], get: Callable[[bytes], Entry | None]) -> None:
    piece = TimeSlice()
    for number, key in enumerate(keys):
        entry = get(key)
        if entry is not None:
            index.put(key, entry)
        if not number & 63 and piece.over():
            await piece.next()
    index.ready = True
