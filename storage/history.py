"""The recent changes of one resource, in revision order, bounded by count and by bytes, and grown by age.

What is younger than `YOUNG` seconds is kept beyond the usual bounds, up to harder ones, as long as all histories of the
process together take no more than their share of memory for it (kube-apiserver's watch cache grows by the same age).

Each watcher has its own position in it, so that a slow one neither takes memory nor delays others. When changes are
dropped that it has not read yet, `between` raises Overrun and its watch ends.
"""

from __future__ import annotations

import time
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, islice
from math import inf
from operator import attrgetter

from storage.entry import Change, ChangeType, Entry, is_awaited

MAX_CHANGES = 20_000
MAX_SUPERSEDED_BYTES = 16 << 20
MIN_CHANGES = 8  # kept whatever their size
YOUNG = 75.0  # seconds
GROWTH = 4  # times the bounds, for what is young


@dataclass(slots=True)
class Share:
    """What histories keep beyond their usual bounds, in bytes, and how much that may be."""

    limit: int = 128 << 20
    used: int = 0


SHARE = Share()
_numbers = count()


class Overrun(Exception):
    """The position asked for is no longer in the history."""


class History:
    """Every change with a revision greater than `start`; older ones, after a reload, for those alone who follow."""

    def __init__(
        self,
        start: int,
        max_changes: int = MAX_CHANGES,
        max_bytes: int = MAX_SUPERSEDED_BYTES,
        *,
        share: Share = SHARE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.start = start
        self.number = next(_numbers)  # no two histories have the same
        self.first = 0  # the position of the oldest change kept
        self._changes: deque[Change] = deque()
        self._times: deque[float] = deque()  # when each of them came
        self._bytes = self._extra = 0
        self._max_changes, self._max_bytes = max_changes, max_bytes
        self._share, self._clock = share, clock

    @property
    def end(self) -> int:
        """The position after the newest change."""
        return self.first + len(self._changes)

    @property
    def newest(self) -> int:
        """The revision of the newest change that is kept; where the history starts if none is."""
        return self._changes[-1].revision if self._changes else self.start

    def start_over(self) -> None:
        """Forgets everything, so that every position up to now is overrun."""
        self.first = self.end + 1
        self.start = self._bytes = 0
        self._changes.clear()
        self._times.clear()
        self._account()

    def append(self, change: Change) -> None:
        """Adds the newest change, dropping the oldest ones over the bounds."""
        now = self._clock()
        self._changes.append(change)
        self._times.append(now)
        self._bytes += _weight(change)
        if self._bytes > self._max_bytes or len(self._changes) > self._max_changes or self._extra:
            self._account()
            while len(self._changes) > MIN_CHANGES and self._is_too_much(now):
                self._drop()
            self._account()

    def seed(self, start: int, changes: Sequence[Change]) -> None:
        """Fills an empty history with all changes after a revision, newest first, as far as there is room."""
        kept: list[Change] = []
        for change in changes:
            self._bytes += _weight(change)
            if self._bytes > self._max_bytes or len(kept) >= self._max_changes:
                start = change.revision
                self._bytes -= _weight(change)
                break
            kept.append(change)
        self._changes.extend(reversed(kept))
        self._times.extend([self._clock()] * len(kept))
        self.start = start

    def _is_too_much(self, now: float) -> bool:
        changes = len(self._changes)
        if self._bytes <= self._max_bytes and changes <= self._max_changes:
            return False
        return (
            now - self._times[0] > YOUNG
            or self._bytes > GROWTH * self._max_bytes
            or changes > GROWTH * self._max_changes
            or self._share.used > self._share.limit
        )

    def _drop(self) -> None:
        dropped = self._changes.popleft()
        self._times.popleft()
        self.first += 1
        self._bytes -= _weight(dropped)
        self.start = max(self.start, dropped.revision)
        if self._share.used > self._share.limit:
            self._account()

    def _account(self) -> None:
        extra = max(0, self._bytes - self._max_bytes)
        self._share.used += extra - self._extra
        self._extra = extra

    def shrink(self, changes: int, size: int) -> None:
        """Drops the oldest changes until there are no more than some, of no more than some bytes."""
        while self._changes and (len(self._changes) > changes or self._bytes > size):
            self._drop()

    def awaited(self) -> set[Entry]:
        """The versions in it that can't be read at present, and may be later."""
        changes = [change for change in self._changes if change.awaited]
        versions = {version for change in changes for version in (change.entry, change.previous)}
        return {version for version in versions if version is not None and is_awaited(version)}

    def exchange(self, read: Mapping[Entry, Entry]) -> None:
        """Takes versions that can be read by now in the place of those that could not."""
        for change in self._changes:
            if change.corrupt:
                before = _weight(change)
                change.exchange(read)
                self._bytes += _weight(change) - before
        self._account()

    def check(self, position: int) -> None:
        """Raises Overrun if what was at a position is gone."""
        if position < self.first:
            raise Overrun

    def between(self, position: int, end: int) -> list[Change]:
        """The changes from a position on, up to `end`. Raises Overrun if some of them are gone."""
        self.check(position)
        newest = self.end
        found = list(islice(reversed(self._changes), newest - end, newest - position))
        found.reverse()
        return found

    def whole(self, end: int) -> int:
        """The first position from `end` on that does not part the changes of one revision."""
        while self.first < end < self.end:
            revision = self._changes[end - self.first].revision
            if self._changes[end - self.first - 1].revision != revision:
                break
            end = self.first + bisect_right(self._changes, revision, lo=end - self.first, key=_revision_of)
        return end

    def position_after(self, revision: int) -> int:
        """The position of the first change newer than a revision. Raises Overrun if the history starts later."""
        if revision < self.start:
            raise Overrun
        return self.first + bisect_right(self._changes, revision, key=_revision_of)

    def before(self, changes: int, seconds: float) -> int:
        """The revision of a reader who lacks the last `changes`, or those of the last `seconds`.

        It is as far back as the history goes where that is less; -1 where nothing is lacking.
        """
        moment = self._clock() - seconds if seconds else inf
        lacking = max(0, min(len(self._changes) - changes, bisect_left(self._times, moment)))
        return self._changes[lacking].revision - 1 if lacking < len(self._changes) else -1


_revision_of = attrgetter("revision")


def _weight(change: Change) -> int:
    """The bytes that the history alone keeps alive: of a deletion the last version, and that at its revision."""
    size = 200 if change.previous is None else 200 + change.previous.size
    return size + change.entry.size if change.type is ChangeType.DELETED else size
