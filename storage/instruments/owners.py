"""Who owns children of families: what can go (a custom kind, a webhook, a policy) takes its children with it.

A family says by `of` which of its labels name an owner: `of=(by("resource", "group", "resource"),)`. Who makes such an
owner enters its key, ("resource", GROUP, RESOURCE), and leaves it when the owner goes: all children of it are dropped
then, in all families. What is counted for it later, by a request that ends after it, is kept nowhere.
An owner that is never entered stays for good, such as a built-in kind.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable
from typing import NamedTuple, Protocol

Key = tuple[str, ...]
"""What an owner is, and its name or names."""

Labels = tuple[str, ...]

_MOST_LEFT = 10_000  # keys of owners that have gone; what is counted for one comes within seconds


class Owned(Protocol):
    """A family whose children have owners."""

    def drop(self, labels: Labels) -> None:
        """Drops a child."""


class By(NamedTuple):
    """The labels by which an owner is found, and what it is; "" where the first of the labels says that."""

    what: str
    names: tuple[str, ...]


def by(what: str, *names: str) -> By:
    """The labels that name an owner of a sort."""
    return By(what, names)


class Owners:
    """The owners that may go, and what belongs to each."""

    def __init__(self) -> None:
        self._present: dict[Key, int] = {}  # how often each was entered
        self._left: OrderedDict[Key, None] = OrderedDict()
        self._owned: dict[Key, dict[tuple[Owned, Labels], None]] = {}
        self._held: dict[Hashable, Collection[Key]] = {}
        self._listeners: list[Callable[[Key], None]] = []

    def enter(self, key: Key) -> None:
        """An owner is there: for as many times as it was entered it has to leave."""
        self._present[key] = self._present.get(key, 0) + 1
        self._left.pop(key, None)

    def leave(self, key: Key) -> None:
        """An owner goes, with all that belongs to it. Nothing happens to one that was not entered."""
        times = self._present.get(key, 0)
        if times > 1:
            self._present[key] = times - 1
        elif times:
            del self._present[key]
            self._left[key] = None
            if len(self._left) > _MOST_LEFT:
                self._left.popitem(last=False)
            for family, labels in list(self._owned.pop(key, ())):
                family.drop(labels)
            for listener in self._listeners:
                listener(key)

    def hold(self, holder: Hashable, keys: Collection[Key]) -> None:
        """Has a holder, such as a configuration, enter these owners, and leave those that it held before."""
        before = self._held.pop(holder, ())
        for key in keys:
            self.enter(key)
        for key in before:
            self.leave(key)
        if keys:
            self._held[holder] = keys

    def on_leave(self, listener: Callable[[Key], None]) -> None:
        """Calls a function with the key of each owner that has gone."""
        self._listeners.append(listener)

    def gone(self, keys: Collection[Key]) -> bool:
        """Whether one of these owners has gone."""
        return any(key in self._left for key in keys)

    def own(self, keys: Collection[Key], family: Owned, labels: Labels) -> None:
        """Gives a child to its owners; to those that may go."""
        for key in keys:
            if key in self._present:
                self._owned.setdefault(key, {})[family, labels] = None

    def disown(self, keys: Collection[Key], family: Owned, labels: Labels) -> None:
        """A child has been dropped."""
        for key in keys:
            children = self._owned.get(key)
            if children is not None:
                children.pop((family, labels), None)
                if not children:
                    del self._owned[key]


owners = Owners()
"""Those of this process, as families are."""
