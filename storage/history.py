"""The recent changes of one resource, in revision order, bounded by count and by bytes.

Watchers read it through a position of their own, so that a slow one costs nothing and holds up nobody: when what it
has not read yet is dropped, `between` says so and its watch ends.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from itertools import islice

from storage.entry import Change

MAX_CHANGES = 20_000
MAX_SUPERSEDED_BYTES = 16 << 20
MIN_CHANGES = 256  # kept whatever their size


class Overrun(Exception):
    """The position asked for is no longer in the history."""


class History:
    """Every change with a revision greater than `start`; older ones, after a reload, for those alone who follow."""

    def __init__(self, start: int, max_changes: int = MAX_CHANGES, max_bytes: int = MAX_SUPERSEDED_BYTES) -> None:
        self.start = start
        self.first = 0  # the position of the oldest change kept
        self._changes: deque[Change] = deque()
        self._bytes = 0
        self._max_changes, self._max_bytes = max_changes, max_bytes

    @property
    def end(self) -> int:
        """The position after the newest change."""
        return self.first + len(self._changes)

    def start_over(self) -> None:
        """Forgets everything, so that every position up to now is overrun."""
        self.first = self.end + 1
        self.start = self._bytes = 0
        self._changes.clear()

    def append(self, change: Change) -> None:
        """Adds the newest change, dropping the oldest ones over the bounds."""
        self._changes.append(change)
        self._bytes += _weight(change)
        while len(self._changes) > MIN_CHANGES and (
            self._bytes > self._max_bytes or len(self._changes) > self._max_changes
        ):
            dropped = self._changes.popleft()
            self.first += 1
            self._bytes -= _weight(dropped)
            self.start = max(self.start, dropped.revision)

    def between(self, position: int, end: int) -> list[Change]:
        """The changes from a position on, up to `end`. Raises Overrun if some of them are gone."""
        if position < self.first:
            raise Overrun
        newest = self.end
        found = list(islice(reversed(self._changes), newest - end, newest - position))
        found.reverse()
        return found

    def position_after(self, revision: int) -> int:
        """The position of the first change newer than a revision. Raises Overrun if the history starts later."""
        if revision < self.start:
            raise Overrun
        return self.first + bisect_right(self._changes, revision, key=lambda change: change.revision)

    def undo_to(self, revision: int) -> list[Change]:
        """The changes newer than a revision, newest first. Raises Overrun if some of them are gone."""
        if revision < self.start:
            raise Overrun
        newer = []
        for change in reversed(self._changes):
            if change.revision <= revision:
                break
            newer.append(change)
        return newer


def _weight(change: Change) -> int:
    """The bytes that the history alone keeps alive."""
    return 200 if change.previous is None else 200 + change.previous.size
