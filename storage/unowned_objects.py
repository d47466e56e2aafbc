"""Objects under the root that belong to no registered resource, kept for a resource that may be registered later.

So a CustomResourceDefinition has its objects at once when it is served, and leaves them here when it no longer is.
Their bytes are bounded: above the limit the largest segment is dropped, and a resource registered there reads etcd.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from storage.entry import Entry
from storage.sharing.located_values import Located

log = logging.getLogger(__name__)

LIMIT = 64 << 20  # bytes, in a process

Value = bytes | Entry  # the bytes of etcd, or the entry of the resource that it belonged to
Values = dict[bytes, tuple[Value, int]]  # key -> value, mod revision


def raw_of(value: Value) -> bytes:
    """The bytes of a value, as etcd has them, or as this server would write them."""
    return value.stored().raw if isinstance(value, Entry) else value


@dataclass(slots=True)
class Taking:
    """The values taken from under a prefix, and the changes there since; None stands for a deletion.

    `values` is None if they were dropped. `void` says that nothing is to be given back: everything was loaded anew
    meanwhile, or a resource has the values now.
    """

    prefix: bytes
    values: Values | None
    changes: dict[bytes, tuple[Value, int] | None] = field(default_factory=dict)
    void: bool = False


class Unowned:
    """Values by the first segment of their keys under the root."""

    def __init__(self, root: bytes, limit: int = LIMIT) -> None:
        self._root, self._limit = root, limit
        self.size = 0  # bytes
        self.dropped: set[bytes] = set()  # segments whose values exceeded the limit
        self.unread = False  # whether nothing is kept: after a start in parts, resources read their objects from etcd
        self._segments: dict[bytes, Values] = {}
        self._sizes: dict[bytes, int] = {}
        self._takings: list[Taking] = []

    def put(self, key: bytes, value: Value, revision: int) -> None:
        """Notes a write of a key."""
        if isinstance(value, Located):
            value = value.raw()
        taking = self._taking(key)
        if taking is not None:
            taking.changes[key] = value, revision
            return
        segment = self._segment(key)
        if self.unread or segment in self.dropped:
            return
        values = self._segments.setdefault(segment, {})
        before = values.get(key)
        values[key] = value, revision
        self._count(segment, _size(key, value) - (_size(key, before[0]) if before else 0))
        while self.size > self._limit:
            self._drop(max(self._sizes, key=lambda each: self._sizes[each]))

    def remove(self, key: bytes) -> None:
        """Notes a deletion of a key."""
        taking = self._taking(key)
        if taking is not None:
            taking.changes[key] = None
            return
        segment = self._segment(key)
        before = self._segments.get(segment, {}).pop(key, None)
        if before is not None:
            self._count(segment, -_size(key, before[0]))

    def values(self) -> Values | None:
        """All kept values, by key; None if some are missing here."""
        if self.unread or self.dropped or self._takings:
            return None
        return {key: each for values in self._segments.values() for key, each in values.items()}

    def start_over(self) -> None:
        """Forgets everything, because everything will be loaded anew."""
        self._segments.clear()
        self._sizes.clear()
        self.dropped.clear()
        self.size = 0
        for taking in self._takings:
            taking.void = True
        self._takings.clear()

    def take(self, prefix: bytes) -> Taking:
        """Takes the values under a prefix. Later changes there go to the `Taking`, until `finish` or `give_back`."""
        segment = self._segment(prefix)
        taking = Taking(prefix, None if self.unread or segment in self.dropped else {})
        if taking.values is not None:
            for key in [key for key in self._segments.get(segment, ()) if key.startswith(prefix)]:
                taking.values[key] = found = self._segments[segment].pop(key)
                self._count(segment, -_size(key, found[0]))
        self._takings.append(taking)
        return taking

    def finish(self, taking: Taking) -> None:
        """Ends a taking whose values a resource has now."""
        taking.void = True
        self._takings.remove(taking)

    def give_back(self, taking: Taking) -> None:
        """Ends a taking and keeps its values again; does nothing if it is void."""
        if taking.void:
            return
        self.finish(taking)
        for key, each in {**(taking.values or {}), **taking.changes}.items():
            if each is not None:
                self.put(key, *each)

    def _taking(self, key: bytes) -> Taking | None:
        return next((each for each in self._takings if key.startswith(each.prefix)), None)

    def _segment(self, key: bytes) -> bytes:
        return key[len(self._root) :].partition(b"/")[0]

    def _count(self, segment: bytes, size: int) -> None:
        self.size += size
        self._sizes[segment] = left = self._sizes.get(segment, 0) + size
        if not left:
            del self._sizes[segment], self._segments[segment]

    def _drop(self, segment: bytes) -> None:
        size = self._sizes.pop(segment)
        log.warning(
            "objects of no registered resource exceed the limit, dropping the largest part",
            extra={"prefix": (self._root + segment).decode(errors="replace"), "bytes": size, "limit": self._limit},
        )
        self.size -= size
        del self._segments[segment]
        self.dropped.add(segment)


def _size(key: bytes, value: Value) -> int:
    return 200 + len(key) + (len(value) if isinstance(value, bytes) else value.size)
