"""Background work continues after an error, which is counted."""

from __future__ import annotations

import asyncio
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from gateway.controllers import election
from gateway.controllers.delivery_count import DeliveryCount
from gateway.controllers.observer import Observer
from gateway.customresources.definitions import Definitions
from gateway.kinds.registry import Registry
from gateway.launch import upkeep
from storage.cache import ResourceCache
from storage.entry import Change, Entry
from storage.guard import FAILURES
from tests.unit.storage.canonical import canonical, key, pods


class Once:
    """Fails at the first call, and succeeds at the second."""

    def __init__(self) -> None:
        self.calls = 0
        self.done = asyncio.Event()

    async def run(self, *_: Any) -> None:
        self.calls += 1
        if self.calls == 1:
            raise RuntimeError("once")
        self.done.set()


class Follower:
    """Can't take in changes, or can."""

    def __init__(self, fails: bool) -> None:
        self.fails = fails
        self.seen: list[bytes] = []

    def follows(self, prefix: bytes) -> bool:
        return True

    def begin(self, prefix: bytes, keys: set[bytes]) -> None:
        self.seen.clear()

    def state(self, prefix: bytes, entry: Entry) -> None:
        self.seen.append(entry.key)

    def change(self, prefix: bytes, change: Change) -> None:
        if self.fails:
            raise RuntimeError("as a follower")
        self.seen.append(change.key)


def counted(name: str) -> float:
    return FAILURES.labels(name).value


def errors(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]


async def test_what_is_kept_up_begins_anew(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(upkeep, "SOON", 0.01)
    before, once = counted("a thing"), Once()
    await upkeep.kept_up("a thing", once.run, asyncio.Event())
    assert (once.calls, counted("a thing")) == (2, before + 1)
    assert errors(caplog) == ["a thing failed, starting it again"]


async def test_the_leader_begins_anew(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(election.random, "random", lambda: -1.0)  # no pause
    fence: Any = None
    before, once = counted("leading controllers"), Once()
    leading = asyncio.create_task(election._forever(once.run, fence))
    await asyncio.wait_for(once.done.wait(), 30)
    leading.cancel()
    assert counted("leading controllers") == before + 1
    assert errors(caplog) == ["the controllers failed, starting them again"]


async def test_a_follower_that_fails_keeps_nothing_from_the_others(caplog: pytest.LogCaptureFixture) -> None:
    before, cache = counted("controllers"), pods()
    broken, well = Follower(True), Follower(False)
    resource = SimpleNamespace(cache=cache)
    endpoints: Any = SimpleNamespace(registry=SimpleNamespace(stored=lambda: [""]), of_resource=lambda _: resource)
    observer = Observer(endpoints, [broken, well], DeliveryCount())
    running = asyncio.create_task(observer.run())
    await asyncio.sleep(0)
    put(cache, "a", 5)
    while not (observer.idle and well.seen):
        await asyncio.sleep(0)
    running.cancel()
    assert (well.seen, counted("controllers")) == ([key("n", "a")], before + 1)
    assert errors(caplog) == ["controllers could not process an object, which is skipped"]


def test_a_listener_that_fails_does_not_stop_the_feed(caplog: pytest.LogCaptureFixture) -> None:
    before, cache, heard = counted("listeners of changes"), pods(), list[int]()
    cache.listen(partial(int, "no number at all", base=10))
    cache.listen(lambda change: heard.append(0 if change is None else change.revision))
    put(cache, "a", 5)
    assert (heard, counted("listeners of changes")) == ([5], before + 1)
    assert errors(caplog) == ["a listener of the watch cache failed"]


async def test_a_definition_that_breaks_what_serves_it_is_left(caplog: pytest.LogCaptureFixture) -> None:
    before = counted("definitions")
    endpoints: Any = SimpleNamespace(registry=Registry())
    definitions = Definitions(endpoints, lambda _: None)  # type: ignore[arg-type,return-value]  # it is not converted
    definitions._known.all["a.b"] = {"no": "definition"}
    await definitions._look_at("a.b")
    assert counted("definitions") == before + 1
    assert errors(caplog) == ["a CustomResourceDefinition cannot be served"]


def put(cache: ResourceCache, name: str, revision: int) -> None:
    cache.put(key("n", name), canonical(name), revision)
