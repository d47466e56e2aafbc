"""Who waits for changes of a resource, by what they select: a change wakes those whom it may concern, and nobody else.

One exact value of what a watcher selects is enough to find it by: the object's key, a field, a label or the namespace.
Those who select by no exact value are woken by each change; a crowd of them at intervals that grow with it, so that
each wakes for several changes at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from enum import Enum
from typing import NamedTuple

from storage.entry import AttributesOf, Change, ChangeType

CROWD = 50  # watchers that wait for the same resource
PAUSE_EACH = 200e-6  # seconds between wake-ups for each of them: some times what it costs to serve one
MAX_PAUSE = 0.05


class By(Enum):
    """What an interest is told apart by."""

    KEY = "key"
    PREFIX = "prefix"  # the key up to and with its last slash
    FIELD = "field"
    LABEL = "label"


class Interest(NamedTuple):
    """That a change concerns somebody only if this has that value, before it or after it."""

    by: By
    name: str  # of the field or label
    value: bytes | str


Waiter = asyncio.Future[int]
Aspect = tuple[By, str]


def values_of(aspect: Aspect, change: Change, attributes_of: AttributesOf) -> Iterator[bytes | str]:
    """The values of an aspect that a change is of: before it, and after it."""
    by, name = aspect
    if by is By.KEY:
        yield change.key
    elif by is By.PREFIX:
        yield change.key[: change.key.rindex(b"/") + 1]
    else:
        for entry in (change.previous, None if change.type is ChangeType.DELETED else change.entry):
            readable = entry and entry.readable
            if readable:
                attributes = readable.attributes(attributes_of)
                yield (attributes.fields if by is By.FIELD else attributes.labels).get(name, "")


class Waiters:
    """Futures of those who wait. Their result is the position in the history from which on to look.

    It is -1 for those without an interest: from where they were.
    """

    def __init__(self, attributes_of: AttributesOf) -> None:
        self._attributes_of = attributes_of
        self._any: set[Waiter] = set()
        self._found: dict[Aspect, dict[bytes | str, set[Waiter]]] = {}
        self._woken = 0.0  # when those without an interest were, by the loop's clock
        self._alarm: asyncio.TimerHandle | None = None

    def add(self, interest: Interest | None) -> Waiter:
        """Somebody who waits from now on."""
        waiter: Waiter = asyncio.get_running_loop().create_future()
        if interest is None:
            self._any.add(waiter)
        else:
            self._found.setdefault(interest[:2], {}).setdefault(interest.value, set()).add(waiter)
        return waiter

    def remove(self, waiter: Waiter, interest: Interest | None) -> None:
        """Somebody who does not wait any more."""
        if interest is None:
            self._any.discard(waiter)
            return
        values = self._found.get(interest[:2], {})
        waiting = values.get(interest.value)
        if waiting is not None:
            waiting.discard(waiter)
            if not waiting:
                del values[interest.value]
                if not values:
                    del self._found[interest[:2]]

    @property
    def selective(self) -> bool:
        """Whether anybody waits with an interest."""
        return bool(self._found)

    def tell(self, changes: Iterable[Change], position: int) -> None:
        """Wakes those whom some changes concern; the first of these has a position."""
        for change in changes:
            for aspect, values in self._found.items():
                for value in set(values_of(aspect, change, self._attributes_of)):
                    for waiter in values.get(value, ()):
                        if not waiter.done():
                            waiter.set_result(position)
            position += 1

    def wake(self) -> None:
        """Wakes those without an interest, at once or, a crowd of them, in a moment."""
        crowd = len(self._any)
        if crowd < CROWD:
            self.wake_any()
            return
        if self._alarm is not None:
            return
        loop = asyncio.get_running_loop()
        due = self._woken + min(MAX_PAUSE, crowd * PAUSE_EACH)
        if due <= loop.time():
            self.wake_any()
        else:
            self._alarm = loop.call_at(due, self.wake_any)

    def wake_any(self) -> None:
        """Wakes those without an interest at once."""
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        self._woken = asyncio.get_running_loop().time()
        waiters, self._any = self._any, set()
        _wake(waiters, -1)

    def wake_all(self, position: int = -1) -> None:
        """Wakes everybody, whatever they wait for; those with an interest to look from a position on."""
        self.wake_any()
        found, self._found = self._found, {}
        for values in found.values():
            for waiters in values.values():
                _wake(waiters, position)


def _wake(waiters: Iterable[Waiter], position: int) -> None:
    for waiter in waiters:
        if not waiter.done():
            waiter.set_result(position)
