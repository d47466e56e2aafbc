"""One ordered stream of the changes of some resources, for code that keeps a view of them up to date.

It starts with a state (all objects), followed by every change of these resources in the order of revisions. A consumer
is only a position in each history, so that a slow one does not delay others. When it has fallen behind what the
histories keep, or the cache was loaded anew, it gets a state again. A version that can't be read is left out: the last
readable one stays.
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

PART = 512  # changes of one resource that are told at once

_revision_of = attrgetter("change.revision")


@dataclass(frozen=True, slots=True)
class State:
    """All objects of each resource, in key order, at a revision. It replaces everything that was told before."""

    revision: int
    entries: dict[ResourceCache, list[Entry]]


@dataclass(frozen=True, slots=True)
class Told:
    """A change and its resource."""

    resource: ResourceCache
    change: Change


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes in order, at least one. Everything up to a revision has been told with them."""

    revision: int
    told: list[Told]


Batch = State | Changes
Place = tuple[WatchCache, ResourceCache]
"""A resource and the cache of the etcd that it is in."""


async def tap(cache: WatchCache, resources: Sequence[ResourceCache]) -> AsyncIterator[Batch]:
    """The state of some resources, once the cache has one, and what changes. Ends when one of them is unregistered."""
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
    """Calls `tell` with the state, then with each change in the turn of the loop in which it is applied.

    So what this process writes is told before its writer goes on. The state is empty before the first load. `tell`
    must be quick, and must go by what it is told: the caches may be in the middle of a change. The resources may be of
    several etcds: each change has a revision of its own, and a state the lowest. The function that comes back ends it.
    """
    known: list[int] = []
    caches, resources = dict.fromkeys(cache for cache, _ in places), [resource for _, resource in places]

    def tell_state() -> None:
        reached = [cache.reached for cache in caches]
        loaded = [*reached, *_states(resources)]  # the first load is of no new generation
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
    """What is another one where resources have a state that was told by no change."""
    return [state for resource in resources for state in (resource.generation, resource.readings)]


def _state(revision: int, resources: Sequence[ResourceCache]) -> State:
    return State(revision, {resource: _readable(resource) for resource in resources})


def _readable(resource: ResourceCache) -> list[Entry]:
    entries = [entry.readable for entry in resource.slice(0, len(resource))]
    return [entry for entry in entries if entry is not None]


def _next(cache: WatchCache, resources: Sequence[ResourceCache], positions: list[int]) -> tuple[int, list[Told]]:
    """The next changes of all resources up to one revision, and that; moves the positions. Raises Overrun."""
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
