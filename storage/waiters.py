"""Wakes only those watchers of a resource that a change may concern.

A watcher is found by one exact value of its selection, its interest: the object's key, a field, a label or the
namespace. Watchers without an interest are woken by each change. Many watchers of the same value (a crowd) are woken at
intervals that grow with their number, so that each of them handles several changes at once.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from itertools import islice
from time import monotonic
from typing import NamedTuple

from storage.entry import Change, ChangeType, LabelsAndFieldsOf

CROWD = 50  # watchers of the same value
PAUSE_EACH = 200e-6  # seconds between wake-ups per watcher: some times the CPU time that serving one takes
MAX_PAUSE = 0.05
AT_ONCE = 64  # followers told in one turn of the loop
SLICE = 0.005  # seconds of a turn in which followers are told: TLS encrypts a large event for each of them


class InterestKind(Enum):
    """The kind of value that an interest names."""

    KEY = "key"
    PREFIX = "prefix"  # the key up to and with its last slash
    FIELD = "field"
    LABEL = "label"


class Interest(NamedTuple):
    """One exact value: a change concerns the watcher only if the object has the value before or after it."""

    by: InterestKind
    name: str  # of the field or label; unused for other kinds
    value: bytes | str


Waiter = asyncio.Future[int]
Told = Callable[[int], None]
Sent = Callable[[int, float], None]
Aspect = tuple[InterestKind, str]


def values_of(aspect: Aspect, change: Change, labels_and_fields_of: LabelsAndFieldsOf) -> Iterator[bytes | str]:
    """The values that the changed object has for an aspect, before and after the change."""
    by, name = aspect
    if by is InterestKind.KEY:
        yield change.key
    elif by is InterestKind.PREFIX:
        yield change.key[: change.key.rindex(b"/") + 1]
    else:
        for entry in (change.previous, None if change.type is ChangeType.DELETED else change.entry):
            readable = entry and entry.readable
            if readable:
                attributes = readable.labels_and_fields(labels_and_fields_of)
                yield (attributes.fields if by is InterestKind.FIELD else attributes.labels).get(name, "")


class _Crowd:
    """The watchers of one value: waiters (futures) and followers (callbacks)."""

    __slots__ = ("_alarm", "_due", "_late", "_sent", "_since", "_woken", "followers", "members", "position", "waiters")

    def __init__(self, late: dict[_Crowd, None], sent: Sent) -> None:
        """The crowd is in `late` while a delayed wake-up is scheduled."""
        self._sent = sent
        self.waiters: set[Waiter] | None = None  # None saves memory: there are ten thousands of crowds without waiters
        self.followers: dict[Told, None] = {}
        self.members = 0  # followers, and waiters including woken ones that have not left yet
        self.position = -1  # from which the watchers look at the next wake-up
        self._late = late
        self._woken = -math.inf  # by the loop's clock, which may start near 0
        self._alarm: asyncio.TimerHandle | None = None
        self._due: dict[Told, None] = {}  # followers to call in the next turns
        self._since = -1  # the position that those are called with

    def tell(self, position: int) -> None:
        """Wakes the watchers, at once or, for a crowd, with a delay. They look from `position` on.

        If a delayed wake-up is already scheduled, its earlier position stays.
        """
        if self._alarm is not None:
            return
        self.position = position
        count = self._size()
        if count < CROWD:
            self.wake()
            return
        loop = asyncio.get_running_loop()
        due = self._woken + min(MAX_PAUSE, count * PAUSE_EACH)
        if due <= loop.time():
            self.wake()
        else:
            self._alarm = loop.call_at(due, self.wake)
            self._late[self] = None

    def _size(self) -> int:
        return len(self.followers) + (len(self.waiters) if self.waiters else 0)

    @property
    def late(self) -> bool:
        """Whether a delayed wake-up is scheduled."""
        return self._alarm is not None

    def wake(self) -> None:
        """Wakes the watchers now."""
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
            self._late.pop(self, None)
        if self._size() >= CROWD:
            self._woken = asyncio.get_running_loop().time()
        waiters, self.waiters = self.waiters, None
        for waiter in waiters or ():
            if not waiter.done():
                waiter.set_result(self.position)
        if self.followers:
            self._tell_followers()

    def _tell_followers(self) -> None:
        """Schedules calls of the followers for the next turns; those that still wait for an earlier call come first."""
        if self._due:
            self._since = min(self._since, self.position)
        else:
            self._since = self.position
            asyncio.get_running_loop().call_soon(self._serve)
        self._due.update(self.followers)

    def _serve(self) -> None:
        now, served = monotonic(), 0
        until = now + SLICE
        for told in tuple(islice(self._due, AT_ONCE)):
            del self._due[told]
            if told in self.followers:
                told(self._since)
                served += 1
            now = monotonic()
            if now > until:
                break
        self._sent(served, now)
        if self._due:
            asyncio.get_running_loop().call_soon(self._serve)

    def unserved(self, told: Told, position: int) -> int:
        """The position from which a follower has to look, given the changes it was not told of; at most `position`."""
        if self._due and told in self._due:
            position = min(position, self._since)
        return min(position, self.position) if self.late else position


class Waiters:
    """The waiters and followers of one resource. A waiter is a future; a follower is a callback.

    Both get the position in the history from which to look; -1, without an interest, means their own position.
    """

    def __init__(self, labels_and_fields_of: LabelsAndFieldsOf, sent: Sent = lambda served, now: None) -> None:
        """Calls `sent` with the number of followers that were just called, and the time by the monotonic clock."""
        self._sent = sent
        self._labels_and_fields_of = labels_and_fields_of
        self._late: dict[_Crowd, None] = {}  # empty, it is smaller than a set
        self._any = _Crowd(self._late, self._sent)
        self._found: dict[Aspect, dict[bytes | str, _Crowd]] = {}

    def add(self, interest: Interest | None) -> Waiter:
        """Adds a waiter; its future is done when a change may concern it."""
        crowd = self._join(interest)
        waiter: Waiter = asyncio.get_running_loop().create_future()
        if crowd.waiters is None:
            crowd.waiters = set()
        crowd.waiters.add(waiter)
        return waiter

    def follow(self, told: Told, interest: Interest | None) -> None:
        """Adds a follower: `told` is called after each change, in a later turn of the event loop, until `unfollow`."""
        self._join(interest).followers[told] = None

    def _join(self, interest: Interest | None) -> _Crowd:
        crowd = self._any
        if interest is not None:
            values = self._found.setdefault(interest[:2], {})
            crowd = values.get(interest.value) or values.setdefault(interest.value, _Crowd(self._late, self._sent))
        crowd.members += 1
        return crowd

    def remove(self, waiter: Waiter, interest: Interest | None) -> None:
        """Removes a waiter. Call it once per waiter."""
        crowd = self._crowd(interest)
        if crowd.waiters is not None:
            crowd.waiters.discard(waiter)
        self._leave(crowd, interest)

    def unfollow(self, told: Told, interest: Interest | None) -> None:
        """Removes a follower. Call it once per follower."""
        crowd = self._crowd(interest)
        crowd.followers.pop(told, None)
        self._leave(crowd, interest)

    def _leave(self, crowd: _Crowd, interest: Interest | None) -> None:
        crowd.members -= 1
        if interest is not None and not crowd.members:
            crowd.wake()
            values = self._found[interest[:2]]
            del values[interest.value]
            if not values:
                del self._found[interest[:2]]

    def unserved(self, told: Told, interest: Interest | None, position: int) -> int:
        """The position from which a follower has to look: it was told of earlier changes, or they don't concern it.

        `position` is the end of the history; it is the answer if no change is left. -1 without an interest.
        """
        return -1 if interest is None else self._crowd(interest).unserved(told, position)

    def _crowd(self, interest: Interest | None) -> _Crowd:
        return self._any if interest is None else self._found[interest[:2]][interest.value]

    @property
    def selective(self) -> bool:
        """Whether there are watchers with an interest."""
        return bool(self._found)

    def tell(self, changes: Iterable[Change], position: int) -> None:
        """Wakes the watchers with an interest that some changes concern. `position` is that of the first change.

        A change that can't be read at present may concern all watchers.
        """
        for change in changes:
            if change.awaited:
                for each in [crowd for values in self._found.values() for crowd in values.values()]:
                    each.tell(position)
            for aspect, values in self._found.items():
                for value in set(values_of(aspect, change, self._labels_and_fields_of)):
                    crowd = values.get(value)
                    if crowd is not None:
                        crowd.tell(position)
            position += 1

    def wake(self) -> None:
        """Wakes the watchers without an interest, at once or, if they are a crowd, with a delay."""
        self._any.tell(-1)

    def wake_now(self) -> None:
        """Wakes the watchers without an interest, and all whose wake-up was delayed, at once."""
        self._any.position = -1
        self._any.wake()
        for crowd in tuple(self._late):
            crowd.wake()

    def wake_all(self, position: int = -1) -> None:
        """Wakes all watchers; those with an interest look from `position` on."""
        self.wake_now()
        for values in self._found.values():
            for crowd in values.values():
                crowd.position = position
                crowd.wake()
