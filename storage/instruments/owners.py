"""Owners of metric children: when an owner (a custom kind, a webhook, a policy) is deleted, its children are dropped.

A family says by `of` which of its labels name an owner: `of=(by("resource", "group", "resource"),)`. The code that
makes such an owner calls `enter` with its key, ("resource", GROUP, RESOURCE), and `leave` when the owner is deleted.
Then all its children are dropped, in all families. Later counts, by requests that end after it, are not kept. An owner
that was never entered, such as a built-in kind, keeps its children.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable
from typing import NamedTuple, Protocol

Key = tuple[str, ...]
"""The sort of an owner, and its name or names."""

Labels = tuple[str, ...]

MOST_OF_OTHERS = 100  # keys that only others than this server have named, such as users of its control planes
_MOST_LEFT = 10_000  # keys of deleted owners that are remembered; late counts come within seconds


class Owned(Protocol):
    """A family whose children have owners."""

    def drop(self, labels: Labels) -> None:
        """Drops a child."""


class OwnerLabels(NamedTuple):
    """The sort of an owner, and the labels that name it. The sort is "" if the first label's value is the sort."""

    what: str
    names: tuple[str, ...]


def by(what: str, *names: str) -> OwnerLabels:
    """The labels that name an owner of a sort."""
    return OwnerLabels(what, names)


class SeriesOwners:
    """The entered owners, and the children of each."""

    def __init__(self) -> None:
        self._present: dict[Key, int] = {}  # how often each was entered
        self._left: OrderedDict[Key, None] = OrderedDict()
        self._owned: dict[Key, dict[tuple[Owned, Labels], None]] = {}
        self._of_others, self._rest = set[Key](), set[Key]()
        self._held: dict[Hashable, Collection[Key]] = {}
        self._listeners: list[Callable[[Key], None]] = []

    def enter(self, key: Key, *, of_others: bool = False) -> None:
        """Adds an owner. An owner that was entered several times has to leave as often.

        Those `of_others`, whom this server does not trust with its memory, have children of their own up to
        `MOST_OF_OTHERS` keys; the children of the rest are one.
        """
        if not of_others:
            self._of_others.discard(key)
            self._rest.discard(key)
        elif key not in self._present:
            (self._of_others if len(self._of_others) < MOST_OF_OTHERS else self._rest).add(key)
        self._present[key] = self._present.get(key, 0) + 1
        self._left.pop(key, None)

    def leave(self, key: Key) -> None:
        """Removes an owner and drops its children; does nothing for an owner that was not entered."""
        times = self._present.get(key, 0)
        if times > 1:
            self._present[key] = times - 1
        elif times:
            del self._present[key]
            self._of_others.discard(key)
            self._rest.discard(key)
            self._left[key] = None
            if len(self._left) > _MOST_LEFT:
                self._left.popitem(last=False)
            for family, labels in list(self._owned.pop(key, ())):
                family.drop(labels)
            for listener in self._listeners:
                listener(key)

    def hold(self, holder: Hashable, keys: Collection[Key]) -> None:
        """Enters these owners for a holder, such as a configuration, and leaves those that it held before."""
        before = self._held.pop(holder, ())
        for key in keys:
            self.enter(key)
        for key in before:
            self.leave(key)
        if keys:
            self._held[holder] = keys

    def on_leave(self, listener: Callable[[Key], None]) -> None:
        """Calls a function with the key of each owner that is removed."""
        self._listeners.append(listener)

    def have_gone(self, keys: Collection[Key]) -> bool:
        """Whether one of these owners was removed."""
        return any(key in self._left for key in keys)

    def are_rest(self, keys: Collection[Key]) -> bool:
        """Whether one of these owners has no children of its own."""
        return bool(self._rest) and not self._rest.isdisjoint(keys)

    def own(self, keys: Collection[Key], family: Owned, labels: Labels) -> None:
        """Notes that a child belongs to these owners, as far as they are entered."""
        for key in keys:
            if key in self._present:
                self._owned.setdefault(key, {})[family, labels] = None

    def disown(self, keys: Collection[Key], family: Owned, labels: Labels) -> None:
        """Forgets a dropped child."""
        for key in keys:
            children = self._owned.get(key)
            if children is not None:
                children.pop((family, labels), None)
                if not children:
                    del self._owned[key]


owners = SeriesOwners()
"""The owners of this process; families are global too."""
