"""Followers: code that gets each object of some resources, and each change, when the watch cache applies it.

Built on `storage.tap`. An object that the follower fails on is logged, counted and skipped; the others are still
followed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Generic, Protocol, TypeVar

from storage.cache import ResourceCache
from storage.entry import ChangeType, Entry
from storage.guard import guarded
from storage.instruments import owners
from storage.keys import name_of
from storage.tap import Batch, Place, TapState, listen

V = TypeVar("V")


class Follower(Protocol):
    """Code that follows objects. `name` is its name in logs and metrics when it fails on an object."""

    name: str

    def clear(self) -> None:
        """Forgets all objects: `take` will be called for each of them again."""

    def take(self, resource: ResourceCache, entry: Entry) -> None:
        """Called for an object that exists or has changed. If this or `lose` raises, only this object is skipped."""

    def lose(self, resource: ResourceCache, entry: Entry) -> None:
        """Called for a deleted object, with its last version."""

    def on_revision(self, revision: int) -> None:
        """Called after each batch: the follower has all changes up to a revision; 0 before the first load."""


def follow(places: Sequence[Place], follower: Follower) -> Callable[[], None]:
    """Gives a follower all objects of some resources, then each change when the cache applies it.

    So the follower gets a write of this process before the write returns to its caller. Returns a function to end it.
    """
    return listen(places, partial(tell, follower))


def tell(follower: Follower, batch: Batch) -> None:
    """Gives one batch of a tap to a follower."""
    if isinstance(batch, TapState):
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
    follower.on_revision(batch.revision)


class ByName(Generic[V]):
    """A `Follower` that keeps a value for each object of one cluster-scoped resource, by name.

    If `read` fails on a version of an object, the value of the version before it stays.
    """

    __slots__ = ("_before", "_changed", "_names", "_owner", "_read", "all", "name")

    def __init__(
        self,
        name: str,
        read: Callable[[Entry, V | None], V],
        changed: Callable[[Collection[str], int], None] = lambda names, revision: None,
        owner: str = "",
    ) -> None:
        """`read` makes the value from an object's entry and its value before, None if there was none.

        `changed` is called after each batch, with the names of its objects and its revision. `owner` is the kind of
        owner in `storage.instruments.owners`: the metrics of an object are dropped when it is deleted.
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

    def on_revision(self, revision: int) -> None:
        names, self._names, self._before = self._names, {}, {}
        if self._owner:
            for name in names:
                owners.hold((id(self), name), [(self._owner, name)] if name in self.all else ())
        self._changed(names.keys(), revision)
