"""Controllers begin to work after they have seen all existing objects."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from gateway.controllers import controllers as controllers_module
from gateway.controllers import observer
from gateway.controllers.controllers import Controllers
from gateway.work_queue import Work, WorkQueue
from storage.cache import ResourceCache
from storage.entry import Change, Entry
from tests.unit.storage.canonical import canonical, key, pods

MANY = 50


class Counting:
    """A controller that records, when it processes its first object, how many objects it knows by then."""

    def __init__(self) -> None:
        self.queue: WorkQueue[bytes] = WorkQueue("counting")
        self.meanwhile: Callable[[], object] = lambda: None  # what happens while it is told of an object
        self.told, self.known = 0, asyncio.get_running_loop().create_future()

    def works(self) -> list[Work]:
        return [Work(self.queue, self.reconcile, 1)]

    def follows(self, prefix: bytes) -> bool:
        return True

    def begin(self, prefix: bytes, keys: set[bytes]) -> None: ...

    def state(self, prefix: bytes, entry: Entry) -> None:
        self.told += 1
        self.queue.add(entry.key)
        self.meanwhile()

    def change(self, prefix: bytes, change: Change) -> None:
        self.told += 1

    def kinds_changed(self) -> None: ...

    async def reconcile(self, key: bytes) -> None:
        if not self.known.done():
            self.known.set_result(self.told)


class Store:
    """A store that these tests never write to."""

    def fenced(self, *fence: object) -> Store:
        return self

    async def occupy(self) -> None: ...


class Nothing:
    """Extension servers: there are none."""

    def on_change(self, listener: object) -> Any:
        return lambda: None

    async def run(self, followers: object, user: object) -> None: ...


def full() -> ResourceCache:
    cache = pods()
    for number in range(MANY):
        cache.put(key("n", f"p{number}"), canonical(f"p{number}"), number + 1)
    return cache


async def known_at_first(monkeypatch: pytest.MonkeyPatch, counting: Counting, cache: ResourceCache) -> int:
    """Of how many objects the controller has been told when it looks at the first one."""
    monkeypatch.setattr(observer, "SLICE", 0.0)
    monkeypatch.setattr(controllers_module, "CONTROLLERS", {"counting": SimpleNamespace(make=lambda parts: counting)})
    monkeypatch.setattr(controllers_module, "wanted", lambda names: ["counting"])
    main = SimpleNamespace(store=Store(), client=None)
    settings = SimpleNamespace(controllers=())
    services = SimpleNamespace(database=main, databases=[main], settings=settings, foreign_objects=Nothing())
    registry = SimpleNamespace(stored=lambda: [cache])
    endpoints: Any = SimpleNamespace(
        services=services,
        registry=registry,
        of=lambda *names: SimpleNamespace(database=main),
        of_resource=lambda known: SimpleNamespace(cache=known),
        on_change=lambda listener: None,
    )
    fence: Any = None
    controllers = Controllers(endpoints, asyncio.Event())
    leading = asyncio.ensure_future(controllers.lead(fence))
    try:
        await asyncio.wait((leading, counting.known), return_when=asyncio.FIRST_COMPLETED)
        return counting.known.result()
    finally:
        leading.cancel()
        await asyncio.gather(leading, return_exceptions=True)


async def test_nothing_is_done_before_all_that_there_is_has_been_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise an owner would be deleted as one without dependents, because its dependents are not known yet."""
    assert await known_at_first(monkeypatch, Counting(), full()) == MANY


async def test_nothing_is_done_before_what_came_meanwhile_has_been_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dependent of an earlier resource may be older than the deletion of its owner, which is in the same batch."""
    counting, cache = Counting(), full()

    def more() -> None:
        counting.meanwhile = lambda: None
        for number in range(MANY, 2 * MANY):
            cache.put(key("n", f"p{number}"), canonical(f"p{number}"), number + 1)

    counting.meanwhile = more
    assert await known_at_first(monkeypatch, counting, cache) == 2 * MANY
