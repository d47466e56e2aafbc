"""Following the objects of resources in step with the watch cache: one object after the other, each for itself.

Built on `storage.tap`. An object that cannot be read, or that its reader cannot make sense of, is logged, counted and
left out, and all others go on being followed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Generic, Protocol, TypeVar

from storage.cache import ResourceCache
from storage.entry import ChangeType, Entry
from storage.guarded import guarded
from storage.instruments import owners
from storage.keys import name_of
from storage.tap import Batch, Place, State, listen

V = TypeVar("V")


class Follower(Protocol):
    """What is told of objects. `name` is what logs and metrics call it when an object makes no sense to it."""

    name: str

    def clear(self) -> None:
        """Everything that was told is void: all objects are told again."""

    def take(self, resource: ResourceCache, entry: Entry) -> None:
        """An object is there, or has changed. What this or `lose` raises concerns this object alone."""

    def lose(self, resource: ResourceCache, entry: Entry) -> None:
        """An object is gone; the entry is the last that there was."""

    def told(self, revision: int) -> None:
        """Everything up to a revision has been told; 0 before the first load of all."""


def follow(places: Sequence[Place], follower: Follower) -> Callable[[], None]:
    """Tells a follower of all objects of some resources, then of each change in the turn in which it is applied.

    So what this process writes is known before its writer goes on. The function that comes back ends it.
    """
    return listen(places, partial(tell, follower))


def tell(follower: Follower, batch: Batch) -> None:
    """Tells a follower of one batch of a tap."""
    if isinstance(batch, State):
        follower.clear()
        for resource, entries in batch.entries.items():
            for entry in entries:
                with guarded(follower.name, entry):
                    follower.take(resource, entry)
    else:
        for told in batch.told:
            change = told.change
            with guarded(follower.name, change.entry):
                if change.type is ChangeType.DELETED:
                    follower.lose(told.resource, change.entry)
                else:
                    follower.take(told.resource, change.entry)
    follower.told(batch.revision)


class ByName(Generic[V]):
    """What is made of each object of one cluster-scoped resource, by its name; a `Follower`.

    Where an object makes no sense, what was made of the version before it stays.
    """

    __slots__ = ("_before", "_changed", "_names", "_owner", "_read", "all", "name")

    def __init__(
        self,
        name: str,
        read: Callable[[Entry, V | None], V],
        changed: Callable[[Collection[str], int], None] = lambda names, revision: None,
        owner: str = "",
    ) -> None:
        """`read` makes a value of an object's entry and of the value before it, if there was one.

        `changed` is called after each batch, with the names of the objects that it told of and its revision.
        `owner` is what metrics call such an object: what is counted of one goes with it.
        """
        self.name, self._read, self._changed, self._owner = name, read, changed, owner
        self.all: dict[str, V] = {}
        self._before: dict[str, V] = {}
        self._names: dict[str, None] = {}

    def clear(self) -> None:
        self._before, self.all = self.all, {}
        self._names = dict.fromkeys(self._before)

    def take(self, resource: ResourceCache, entry: Entry) -> None:
        name = name_of(entry.key)
        self._names[name] = None
        if name in self._before:
            self.all[name] = self._before[name]
        self.all[name] = self._read(entry, self.all.get(name))

    def lose(self, resource: ResourceCache, entry: Entry) -> None:
        name = name_of(entry.key)
        self._names[name] = None
        self.all.pop(name, None)

    def told(self, revision: int) -> None:
        names, self._names, self._before = self._names, {}, {}
        if self._owner:
            for name in names:
                owners.hold((id(self), name), [(self._owner, name)] if name in self.all else ())
        self._changed(names.keys(), revision)
