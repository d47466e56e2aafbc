"""Finds, in a long history, the few changes that concern one watcher.

Without it, after a restart, each of thousands of watchers would scan all changes since. An index of one aspect (key,
field, label, namespace) is built when a watcher first needs it, in short time slices. It is dropped when it was not
used for a while.
"""

from __future__ import annotations

import asyncio
import time
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field

from storage.entry import LabelsAndFieldsOf
from storage.history import History
from storage.time_slice import TimeSlice
from storage.waiters import Aspect, Interest, values_of

FEW = 64  # a history with fewer changes is scanned
STEP = 64  # changes between two looks at the clock
KEPT = 30.0  # seconds that an unused index is kept
MOST = 8  # aspects with an index


@dataclass(slots=True)
class _Positions:
    """The positions of the changes of each value of one aspect, up to the position `upto`."""

    upto: int = 0
    count: int = 0
    used: float = 0.0
    unknown: list[int] = field(default_factory=list)  # positions of changes that can't be read at present
    values: dict[bytes | str, list[int]] = field(default_factory=dict)


class Concerning:
    """Finds the changes of one history that concern an interest."""

    def __init__(self, history: History, labels_and_fields_of: LabelsAndFieldsOf) -> None:
        self._history, self._labels_and_fields_of = history, labels_and_fields_of
        self._found: dict[Aspect, _Positions] = {}

    async def next(self, interest: Interest | None, position: int) -> int:
        """The first position at or after `position` with a change that may concern an interest; else the history's end.

        In a short history, or without an interest, it is `position`. Raises Overrun if that was dropped meanwhile.
        """
        history = self._history
        if interest is None or history.end - position <= FEW:
            return position
        found = self._of(interest[:2])
        await self._look(found, interest[:2])
        history.check(position)
        firsts = (_first_from(each, position) for each in (found.values.get(interest.value, ()), found.unknown))
        return min((each for each in firsts if each is not None), default=history.end)

    def start_over(self) -> None:
        """Drops the indexes, because changes that could not be read have become readable."""
        self._found.clear()

    def _of(self, aspect: Aspect) -> _Positions:
        found = self._found.get(aspect)
        if found is None:
            while len(self._found) >= MOST:
                del self._found[min(self._found, key=lambda each: self._found[each].used)]
            found = self._found[aspect] = _Positions()
            asyncio.get_running_loop().call_later(KEPT, self._forget, aspect)
        found.used = time.monotonic()
        return found

    async def _look(self, found: _Positions, aspect: Aspect) -> None:
        """Adds the changes since the last call to an index."""
        history, piece = self._history, TimeSlice()
        while found.upto < history.end:
            if found.count > 4 * (history.end - history.first) + 1000:  # most of it is about dropped changes
                found.values, found.unknown, found.count, found.upto = {}, [], 0, 0
            start = found.upto = max(found.upto, history.first)
            for change in history.between(start, min(start + STEP, history.end)):
                if change.awaited:
                    found.unknown.append(found.upto)
                for value in set(values_of(aspect, change, self._labels_and_fields_of)):
                    found.values.setdefault(value, []).append(found.upto)
                    found.count += 1
                found.upto += 1
            if piece.over():
                await piece.next()

    def _forget(self, aspect: Aspect) -> None:
        found = self._found.get(aspect)
        if found is None:
            return
        left = found.used + KEPT - time.monotonic()
        if left <= 0:
            del self._found[aspect]
        else:
            asyncio.get_running_loop().call_later(left, self._forget, aspect)


def _first_from(positions: Sequence[int], position: int) -> int | None:
    index = bisect_left(positions, position)
    return positions[index] if index < len(positions) else None
