"""Writes that are made only while this process holds a key: each transaction compares the key's revision.

So a process that lost the key without noticing, after a pause or a network partition, changes nothing any more.
"""

from __future__ import annotations

from collections.abc import Callable

from storage.errors import Fenced
from storage.etcd.kv import Guard
from storage.etcd.results import KeyValue


class Fence:
    """A key and the revision at which it was last known to be held; 0 while it is not."""

    def __init__(self, key: bytes, is_ours: Callable[[bytes], bool]) -> None:
        """`is_ours` tells of a value of the key whether its holder is this one."""
        self.key, self.revision = key, 0
        self._is_ours = is_ours

    def guard(self) -> Guard:
        """What a write has to compare. Raises Fenced when the key is not held."""
        if not self.revision:
            raise Fenced("the lease is not held")
        return Guard(self.key, self.revision)

    def moved(self, found: KeyValue | None, compared: int | None = None) -> None:
        """The key was as `found`, and not at the revision that a write `compared`: good when it was only renewed.

        Its revision may be a lower one: that of an etcd that was set back. Raises Fenced.
        """
        if not self.revision or found is None or not self._is_ours(found.value):
            self.revision = 0
            raise Fenced("the lease is held by somebody else")
        if self.revision == compared:  # else it was renewed meanwhile
            self.revision = found.mod_revision
        else:
            self.revision = max(self.revision, found.mod_revision)
