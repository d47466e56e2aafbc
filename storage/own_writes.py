"""This process's own writes, from etcd's acknowledgement until they are applied.

etcd's revisions count its writes, so the revision after the last one applied is the next change. An acknowledged write
can therefore be applied without waiting for the watch, once no change before it is missing.
"""

from __future__ import annotations

from collections.abc import Sequence

from storage.etcd import Event

MAX_WAITING = 4096  # writes; of more than these the watch tells


class OwnWrites:
    """Acknowledged writes by revision; each of them is all that its revision changed."""

    def __init__(self) -> None:
        self._waiting: dict[int, Sequence[Event]] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, events: Sequence[Event]) -> None:
        """Takes what one revision changed, in the order in which it did."""
        if len(self._waiting) < MAX_WAITING:
            self._waiting[events[-1].kv.mod_revision] = events

    def following(self, reached: int) -> list[Event]:
        """Takes out the writes that come next after a revision, in order and without a gap."""
        found: list[Event] = []
        while (events := self._waiting.pop(reached + 1, None)) is not None:
            found += events
            reached += 1
        return found

    def told(self, revision: int) -> None:
        """The watch has told of a revision."""
        self._waiting.pop(revision, None)

    def clear(self) -> None:
        self._waiting.clear()
