"""One ordered stream of the changes of some resources, for code that keeps a view of them up to date.

It starts with a state (all objects). Every change of these resources follows, in the order of revisions. A consumer has
only a position in each history, so a slow one does not delay others. When the histories no longer have its position, or
the cache was loaded anew, it gets a new state. A version that can't be read is left out: the last readable one stays.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter

from storage.cache import ResourceCache
from storage.entry import Change, Entry
from storage.history import Overrun
from storage.watch_cache import WatchCache

PART = 512  # changes of one resource in a batch

_revision_of = attrgetter("change.revision")


@dataclass(frozen=True, slots=True)
class TapState:
    """All objects of each resource, in key order, at a revision. It replaces all earlier batches."""

    revision: int
    entries: dict[ResourceCache, list[Entry]]


@dataclass(frozen=True, slots=True)
class Told:
    """A change and its resource."""

    resource: ResourceCache
    change: Change


@dataclass(frozen=True, slots=True)
class Changes:
    """At least one change, in order. With them the consumer has all changes up to `revision`."""

    revision: int
    told: list[Told]


Batch = TapState | Changes
Place = tuple[WatchCache, ResourceCache]
"""A resource, and the watch cache that it belongs to (one per etcd)."""


async def tap(cache: WatchCache, resources: Sequence[ResourceCache]) -> AsyncIterator[Batch]:
    """Yields the state of some resources, once the cache is loaded, then their changes.

    Ends when one of the resources is unregistered.
    """
    await cache.reach(1)
    positions: list[int] | None = None
    read: list[int] = []
    while not any(resource.closed for resource in resources):
        if positions is None:
            positions, read = [resource.history.end for resource in resources], _states(resources)
            yield _state(cache.reached, resources)
        if read != _states(resources):
            positions = None
            continue
        try:
            bound, told = _next(cache, resources, positions)
        except Overrun:
            positions = None
            continue
        if told:
            yield Changes(bound, told)
        elif all(map(_is_at_end, resources, positions)):
            await _changed(resources)


def listen(places: Sequence[Place], tell: Callable[[Batch], None]) -> Callable[[], None]:
    """Calls `tell` with the state, then with each change at the moment when the cache applies it.

    So `tell` gets a write of this process before the write returns to its caller. The state is empty before the first
    load. `tell` must be quick, and must not read the caches: they may be in the middle of a change. The resources may
    be in several etcds: a change has the revision of its etcd, a state the lowest of all. Returns a function to end it.
    """
    known: list[int] = []
    caches, resources = dict.fromkeys(cache for cache, _ in places), [resource for _, resource in places]

    def tell_state() -> None:
        reached = [cache.reached for cache in caches]
        loaded = [*reached, *_states(resources)]  # the first load does not change the generation
        if loaded != known:
            known[:] = loaded
            tell(_state(min(reached), resources))

    def told_by(resource: ResourceCache) -> Callable[[Change | None], None]:
        def told(change: Change | None) -> None:
            if change is None:
                tell_state()
                return
            readable = change.readable() if change.corrupt else change
            if readable is not None:
                tell(Changes(change.revision, [Told(resource, readable)]))

        return told

    ends = [resource.listen(told_by(resource)) for resource in resources]
    tell_state()

    def end() -> None:
        for each in ends:
            each()

    return end


def _states(resources: Sequence[ResourceCache]) -> list[int]:
    """Numbers that change when a resource gets a new state without changes: after a reload or a rereading."""
    return [state for resource in resources for state in (resource.generation, resource.readings)]


def _state(revision: int, resources: Sequence[ResourceCache]) -> TapState:
    return TapState(revision, {resource: _readable(resource) for resource in resources})


def _readable(resource: ResourceCache) -> list[Entry]:
    entries = [entry.readable for entry in resource.slice(0, len(resource))]
    return [entry for entry in entries if entry is not None]


def _next(cache: WatchCache, resources: Sequence[ResourceCache], positions: list[int]) -> tuple[int, list[Told]]:
    """The next changes of all resources, and the revision up to which they go. Moves the positions. Raises Overrun."""
    bound, found = cache.reached, []
    for resource, position in zip(resources, positions, strict=True):
        end = resource.history.end
        part = resource.history.between(position, min(end, position + PART))
        if len(part) < end - position:
            bound = min(bound, part[-1].revision)
        found.append(part)
    told: list[Told] = []
    for index, (resource, part) in enumerate(zip(resources, found, strict=True)):
        for change in part:
            if change.revision > bound:
                break
            positions[index] += 1
            readable = change.readable() if change.corrupt else change
            if readable is not None:
                told.append(Told(resource, readable))
    told.sort(key=_revision_of)
    return bound, told


def _is_at_end(resource: ResourceCache, position: int) -> bool:
    return position >= resource.history.end


async def _changed(resources: Sequence[ResourceCache]) -> None:
    """Waits until one of the resources has changed."""
    waiters = [resource.changes() for resource in resources]
    try:
        await asyncio.wait(waiters, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for resource, waiter in zip(resources, waiters, strict=True):
            resource.forget(waiter)
