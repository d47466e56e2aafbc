"""The writes of this process, from etcd's acknowledgement until the cache has applied them.

etcd's revisions have no gaps: the next change has the revision after the last applied one. So the cache can apply an
acknowledged write without waiting for the watch, once it has applied all earlier revisions.
"""

from __future__ import annotations

from collections.abc import Sequence

from storage.etcd import KeyEvent

MAX_WAITING = 4096  # writes; beyond that the watch brings them


class OwnWrites:
    """Acknowledged writes by revision; each holds all events of its revision."""

    def __init__(self) -> None:
        self._waiting: dict[int, Sequence[KeyEvent]] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, events: Sequence[KeyEvent]) -> None:
        """Adds all events of one revision, in their order."""
        if len(self._waiting) < MAX_WAITING:
            self._waiting[events[-1].kv.mod_revision] = events

    def skip(self, revision: int) -> None:
        """Adds a revision without events: this process has written something that the cache does not have."""
        if len(self._waiting) < MAX_WAITING:
            self._waiting[revision] = ()

    def following(self, reached: int) -> tuple[list[KeyEvent], int]:
        """Removes the revisions that follow `reached` without a gap; returns their events and the last of them."""
        found: list[KeyEvent] = []
        while (events := self._waiting.pop(reached + 1, None)) is not None:
            found += events
            reached += 1
        return found, reached

    def drop(self, revision: int) -> None:
        """Drops the write of a revision, because the watch has brought it."""
        self._waiting.pop(revision, None)

    def clear(self) -> None:
        self._waiting.clear()
