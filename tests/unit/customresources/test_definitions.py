"""One worker at a time updates the endpoints of a CRD, and the newest state wins."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gateway.customresources.definitions import Definitions
from gateway.http.exchange import Request, Response
from gateway.http.request_info import request_info
from gateway.jsontypes import JsonObject
from gateway.kinds.registry import Registry
from gateway.requests.context import Outcome
from gateway.requests.elsewhere import announced
from gateway.work_queue import work
from storage.errors import Unavailable

NAME = "widgets.e.com"


def definition(version: str) -> JsonObject:
    return {
        "metadata": {"name": NAME, "uid": "u", "resourceVersion": version},
        "spec": {"group": "e.com", "names": {"plural": "widgets", "kind": "Widget"}, "versions": []},
    }


class Settling(Definitions):
    """Definitions of which it is told what is served, and which may be held up or fail in between."""

    def __init__(self, workers: int) -> None:
        self.history = SimpleNamespace(newest=0)
        endpoints: Any = SimpleNamespace(
            registry=Registry(),
            of=lambda *names: SimpleNamespace(cache=SimpleNamespace(history=self.history)),
        )
        super().__init__(endpoints, lambda _: None)
        self.served: list[str] = []
        self.under_way = self.most = 0
        self.failures = 0
        self.began, self.go_on = asyncio.Event(), asyncio.Event()
        self.worker = asyncio.create_task(work(self.queue, self._look_at, workers))

    async def _settle(self, name: str) -> None:
        seen = self._known.all[name]
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        self.began.set()
        await self.go_on.wait()
        self.under_way -= 1
        if self.failures:
            self.failures -= 1
            raise Unavailable("etcd is away")
        self.served.append(seen["metadata"]["resourceVersion"])

    def change(self, version: str, established: bool = False) -> None:
        conditions = [{"type": "Established", "status": "True" if established else "False"}]
        self._known.all[NAME] = definition(version) | {"status": {"conditions": conditions}}
        self._changed([NAME], 1)


@pytest.mark.parametrize("workers", [1, 4])
@pytest.mark.parametrize("failures", [0, 1])
async def test_two_changes_of_a_definition_never_overlap(workers: int, failures: int) -> None:
    made = Settling(workers)
    made.failures = failures
    made.change("1")
    await made.began.wait()
    for version in "234":
        made.change(version)  # while the first one waits, say, for etcd
        await asyncio.sleep(0)
    assert made.under_way == 1
    made.go_on.set()
    while not made.queue.idle:
        await asyncio.sleep(0)
    assert made.most == 1
    assert made.served[-1] == "4" and made.served == sorted(made.served)
    made.worker.cancel()


async def test_it_is_ready_once_all_has_been_looked_at_that_was_stored() -> None:
    made = Settling(1)
    made.change("1")
    await made.began.wait()
    assert not made.ready.is_set()
    made.go_on.set()
    await asyncio.wait_for(made.ready.wait(), 30)
    made.worker.cancel()


async def test_it_is_ready_at_once_where_nothing_is_stored() -> None:
    made = Settling(1)
    made._changed([], 1)
    assert made.ready.is_set()
    made.worker.cancel()


def asked(definitions: Definitions, path: str, served: str = "") -> Outcome:
    """What comes of a GET at the stage that waits for definitions, where a kind of the version v1 is served."""
    registry: Any = SimpleNamespace(resources={("e.com", "v1", served, ""): None})
    request: Any = Request("GET", path, b"", {}, None)  # type: ignore[arg-type]  # nobody reads its body
    request.info = request_info("GET", path, {})
    context: Any = SimpleNamespace(request=request)
    return announced(definitions, registry)(context)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests wait so long that none of them times out on a busy machine."""
    monkeypatch.setattr("gateway.customresources.announcements.ANNOUNCEMENT_TIMEOUT", 60.0)


@pytest.mark.parametrize("path", ["/apis/e.com/v1/widgets", "/apis/e.com/v1", "/apis"])
async def test_who_can_see_that_a_kind_is_established_can_use_it(path: str, patient: None) -> None:
    made = Settling(1)
    made.change("1", established=True)
    waiting = asked(made, path)
    assert waiting is not None and not isinstance(waiting, Response)
    gone_on = asyncio.ensure_future(waiting)
    await made.began.wait()
    assert not gone_on.done()
    made.go_on.set()
    await asyncio.wait_for(gone_on, 30)  # before it would give up
    assert made.served == ["1"] and asked(made, path) is None
    made.worker.cancel()


async def test_a_change_that_is_not_told_yet_is_waited_for_too() -> None:
    made = Settling(1)
    made._changed([], 1)
    made.history.newest = 2
    assert made.ready.is_set() and made.announced
    made._told = 2
    assert not made.announced
    made.worker.cancel()


async def test_a_newer_state_that_comes_meanwhile_is_waited_for_too(patient: None) -> None:
    begun = asyncio.Queue[str]()

    class OneByOne(Settling):
        async def _settle(self, name: str) -> None:
            begun.put_nowait(name)
            await super()._settle(name)
            self.go_on.clear()

    made = OneByOne(1)
    made.change("1", established=True)
    await begun.get()
    made.change("2", established=True)
    made.go_on.set()
    await begun.get()
    assert made.served == ["1"] and made.announced
    made.go_on.set()
    await asyncio.wait_for(made.announced.over(), 30)
    assert made.served == ["1", "2"]
    made.worker.cancel()


@pytest.mark.parametrize("path", ["/apis/e.com/v1/gadgets/a", "/api/v1/pods", "/version"])
async def test_what_is_served_waits_for_no_definition(path: str) -> None:
    made = Settling(1)
    made.change("1", established=True)
    assert asked(made, path, served="gadgets") is None
    made.worker.cancel()


async def test_nobody_waits_for_a_definition_that_is_not_established_or_is_gone() -> None:
    made = Settling(1)
    made.change("1")
    assert not made.announced
    made.change("2", established=True)
    del made._known.all[NAME]
    made._changed([NAME], 3)
    assert not made.announced
    made.worker.cancel()


@pytest.fixture
def untiring(monkeypatch: pytest.MonkeyPatch) -> None:
    """Writes wait so long that none of them times out on a busy machine."""
    monkeypatch.setattr("gateway.customresources.definitions.LOOK_TIMEOUT", 60.0)


@pytest.mark.parametrize("failures", [0, 1])
async def test_a_write_waits_until_its_definition_has_been_looked_at(
    failures: int, untiring: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.work_queue.BASE_DELAY", 60.0)  # what fails is not tried again meanwhile
    made = Settling(1)
    made._changed([], 1)
    made.failures = failures
    made.history.newest = 2
    waiting = asyncio.create_task(made.looked_at())
    await asyncio.sleep(0)
    assert not waiting.done()  # it is in the cache, and the definitions have not been told yet
    made.change("2")
    made._told = 2
    made._progressed()
    await made.began.wait()
    assert not waiting.done()
    made.go_on.set()
    await asyncio.wait_for(waiting, 30)
    assert len(made.served) == 1 - failures
    made.worker.cancel()


async def test_a_write_does_not_wait_for_later_definitions(untiring: None) -> None:
    made = Settling(1)
    made._changed([], 1)
    made.change("1")
    await made.began.wait()
    waiting = asyncio.create_task(made.looked_at())
    await asyncio.sleep(0)
    made.change("2")
    made.go_on.set()
    await asyncio.wait_for(waiting, 30)
    made.worker.cancel()


async def test_a_write_waits_neither_during_the_start_nor_after_the_end(untiring: None) -> None:
    made = Settling(1)
    made.history.newest = 2
    await asyncio.wait_for(made.looked_at(), 30)
    made._changed([], 1)
    waiting = asyncio.create_task(made.looked_at())
    await asyncio.sleep(0)
    made.ended = True
    made._progressed()
    await asyncio.wait_for(waiting, 30)
    made.worker.cancel()


async def test_a_write_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.customresources.definitions.LOOK_TIMEOUT", 0.01)
    made = Settling(1)
    made._changed([], 1)
    made.change("1")
    await made.began.wait()
    await asyncio.wait_for(made.looked_at(), 30)
    assert made.served == []
    made.worker.cancel()


async def test_others_ask_it_which_versions_definitions_serve() -> None:
    made, told = Settling(1), list[tuple[list[tuple[str, str]], set[tuple[str, str]]]]()
    made.on_change(lambda versions: told.append((sorted(versions), set(made.served_versions))))
    v1, v2 = ("e.com", "v1"), ("e.com", "v2")

    def change(name: str, *served: str) -> None:
        kept = made._known.all[name] = definition("1")
        kept["spec"]["versions"] = [{"name": each, "served": each in served} for each in ("v1", "v2")]
        made._changed([name], 1)

    change(NAME, "v1")
    change("others.e.com", "v1")
    change(NAME, "v1", "v2")
    change(NAME)
    del made._known.all["others.e.com"]
    made._changed(["others.e.com"], 2)
    assert told == [([v1], {v1}), ([v2], {v1, v2}), ([v2], {v1}), ([v1], set())]
    made.worker.cancel()


def test_a_definition_is_parsed_in_one_place() -> None:
    """Everybody else asks `Definitions`, which follows them."""
    room = Path(__file__).parents[3] / "gateway"
    words = '"customresourcedefinitions"'
    following = {
        path.relative_to(room).as_posix()
        for path in room.rglob("*.py")
        if words in path.read_text("utf-8") and any(each in path.read_text("utf-8") for each in ("tap(", ".follow(["))
    }
    assert following == {"customresources/definitions.py"}


class Unseen(dict[str, JsonObject]):
    """Definitions that nobody goes through."""

    def _refuse(self) -> Any:
        raise AssertionError("each change of a definition would take longer, the more of them there are")

    __iter__ = keys = values = items = _refuse


def of_group(name: str, group: str) -> JsonObject:
    return {"metadata": {"name": name}, "spec": {"group": group, "names": {}, "versions": []}}


async def test_a_change_looks_at_the_definitions_of_its_group_only() -> None:
    made = Settling(1)
    made._known.all = Unseen()
    for name in ("a.e.com", "b.e.com", "c.f.com"):
        made._known.all[name] = of_group(name, name.partition(".")[2])
        made._changed([name], 1)

    def others(name: str) -> list[str]:
        return [each["metadata"]["name"] for each in made.others(made._known.all[name])]

    assert (others("a.e.com"), others("c.f.com")) == (["b.e.com"], [])
    made._known.all["b.e.com"] = of_group("b.e.com", "f.com")  # written into etcd without a server
    made._changed(["b.e.com"], 2)
    assert (others("a.e.com"), others("c.f.com")) == ([], ["b.e.com"])
    del made._known.all["a.e.com"]
    made._changed(["a.e.com"], 3)
    assert made._groups.keys() == {"f.com"}
    made.worker.cancel()
