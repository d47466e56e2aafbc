"""The recent changes of one resource, in revision order, bounded by count and by bytes.

Changes younger than `YOUNG` seconds may exceed these bounds, up to `GROWTH` times, while all histories of the process
together stay within their `Share` of memory. kube-apiserver's watch cache grows by the same age.

Each watch has its own position in the history, so a slow watch neither takes memory nor delays others. When changes
that it has not read are dropped, `between` raises Overrun and the watch ends.
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
GROWTH = 4  # times the bounds, for young changes


@dataclass(slots=True)
class Share:
    """The bytes that all histories together keep beyond their usual bounds, and the limit of that."""

    limit: int = 128 << 20
    used: int = 0


SHARE = Share()
_numbers = count()


class Overrun(Exception):
    """The position asked for is no longer in the history."""


_NONE: deque[Change] = deque()
_NO_TIMES: deque[float] = deque()
"""Of a history before its first change: an empty deque takes 760 bytes, and most resources never change."""


class History:
    """All changes after the revision `start`. After a reload it also has older ones, for watches already open."""

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
        self.number = next(_numbers)  # unique in the process
        self.first = 0  # the position of the oldest change kept
        self._changes: deque[Change] = _NONE
        self._times: deque[float] = _NO_TIMES  # when each of them came
        self._bytes = self._extra = 0
        self._max_changes, self._max_bytes = max_changes, max_bytes
        self._share, self._clock = share, clock

    @property
    def end(self) -> int:
        """The position after the newest change."""
        return self.first + len(self._changes)

    @property
    def newest(self) -> int:
        """The revision of the newest change; `start` if there is none."""
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
        if self._changes is _NONE:
            self._changes, self._times = deque(), deque()
        self._changes.append(change)
        self._times.append(now)
        self._bytes += _weight(change)
        if self._bytes > self._max_bytes or len(self._changes) > self._max_changes or self._extra:
            self._account()
            while len(self._changes) > MIN_CHANGES and self._is_too_much(now):
                self._drop()
            self._account()

    def seed(self, start: int, changes: Sequence[Change]) -> None:
        """Fills an empty history with `changes`, newest first: all changes after the revision `start`.

        The oldest are left out if they exceed the bounds; `start` is then later.
        """
        kept: list[Change] = []
        for change in changes:
            self._bytes += _weight(change)
            if self._bytes > self._max_bytes or len(kept) >= self._max_changes:
                start = change.revision
                self._bytes -= _weight(change)
                break
            kept.append(change)
        if kept:
            self._changes, self._times = deque(reversed(kept)), deque([self._clock()] * len(kept))
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
        """Drops the oldest changes until at most `changes` are left, of at most `size` bytes."""
        while self._changes and (len(self._changes) > changes or self._bytes > size):
            self._drop()

    def awaited(self) -> set[Entry]:
        """The versions in it that can't be read at present, but may become readable later."""
        changes = [change for change in self._changes if change.awaited]
        versions = {version for change in changes for version in (change.entry, change.previous)}
        return {version for version in versions if version is not None and is_awaited(version)}

    def exchange(self, read: Mapping[Entry, Entry]) -> None:
        """Replaces versions that could not be read (keys) by the readable ones (values)."""
        for change in self._changes:
            if change.corrupt:
                before = _weight(change)
                change.exchange(read)
                self._bytes += _weight(change) - before
        self._account()

    def check(self, position: int) -> None:
        """Raises Overrun if the change at a position was dropped."""
        if position < self.first:
            raise Overrun

    def between(self, position: int, end: int) -> list[Change]:
        """The changes from `position` up to, not including, `end`. Raises Overrun if some of them were dropped."""
        self.check(position)
        newest = self.end
        found = list(islice(reversed(self._changes), newest - end, newest - position))
        found.reverse()
        return found

    def whole(self, end: int) -> int:
        """The first position at or after `end` that does not split the changes of one revision."""
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
        """The revision of a watch that lacks the last `changes`, and the changes of the last `seconds`.

        The history may not reach back so far: then the watch lacks all of it. -1 if the watch lacks no change.
        """
        moment = self._clock() - seconds if seconds else inf
        lacking = max(0, min(len(self._changes) - changes, bisect_left(self._times, moment)))
        return self._changes[lacking].revision - 1 if lacking < len(self._changes) else -1


_revision_of = attrgetter("revision")


def _weight(change: Change) -> int:
    """The bytes that only the history keeps in memory: the previous version; for a deletion also its copy `entry`."""
    size = 200 if change.previous is None else 200 + change.previous.size
    return size + change.entry.size if change.type is ChangeType.DELETED else size
