"""A control plane in memory goes on after work that fails, and is loaded again once it has ended."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any, cast

import pytest

from gateway.clusters import awake
from gateway.clusters.awake import Awake
from gateway.clusters.row import ClusterRow
from gateway.clusters.table import Table
from gateway.release.minors import DEFAULT
from storage.common import CommonCache, PartCache
from storage.etcd import KeyValue
from storage.fence import Fence
from storage.seeded.contents import Contents
from storage.seeded.seeds import Seeds


async def test_controllers_that_fail_are_begun_anew(caplog: pytest.LogCaptureFixture) -> None:
    stopping, begun = asyncio.Event(), list[object]()

    async def lead(fence: object) -> None:
        begun.append(fence)
        if len(begun) == 1:
            raise ValueError("this time")
        stopping.set()

    gateway = SimpleNamespace(stopping=stopping, controllers=SimpleNamespace(lead=lead))
    await Awake._lead(cast(Awake, SimpleNamespace(gateway=gateway)), cast(Fence, "the fence"))
    assert begun == ["the fence"] * 2
    assert [record.getMessage() for record in caplog.records] == [
        "the controllers of a control plane failed, starting them again"
    ]


async def test_one_whose_testing_api_was_used_does_not_rest() -> None:
    watches, definitions = SimpleNamespace(any=False), SimpleNamespace(at_rest=True)
    gateway = SimpleNamespace(services=SimpleNamespace(watches=watches), definitions=definitions)
    gateway.controllers, gateway.interposed = SimpleNamespace(queues=list), SimpleNamespace(in_use=False)
    led = cast(Awake, SimpleNamespace(gateway=gateway, _answering=set(), _used=7.0))
    assert Awake.rests_since(led) == 7.0
    gateway.interposed.in_use = True
    assert Awake.rests_since(led) is None


class _Ends:
    """An awake control plane whose end takes until the test says so."""

    gateway = SimpleNamespace(endpoints=None, registry=None)
    database = None
    serving = nullcontext

    def __init__(self) -> None:
        self.may_end, self.ending, self.has_ended = asyncio.Event(), asyncio.Event(), False

    def stop(self) -> None: ...

    async def end(self) -> None:
        self.ending.set()
        await self.may_end.wait()
        self.has_ended = True

    async def begin(self) -> None: ...

    def limit(self, limits: object) -> None: ...


class _Table(Table):
    """A table of one row, which can wake."""

    def __init__(self, row: ClusterRow) -> None:
        self._rows, self._names, self._ending, self._fence = {"one": row}, {"uid": "one"}, set(), None
        self.before = cast(_Ends, row.awake)
        roles = SimpleNamespace(complete=self._complete)
        self.roles = cast(Any, SimpleNamespace(of=lambda version, registry: roles))

    async def _complete(self, endpoints: object, database: object) -> None: ...

    def _needed(self, row: ClusterRow) -> Any:
        return "as in the Secret"

    async def _beginning(self, of: Any) -> Any:
        assert self.before.has_ended, "it is loaded while the former one still runs"

    def _made(self, row: ClusterRow, credentials: Any, beginning: Any) -> Any:
        return _Ends()


def _table() -> tuple[_Table, ClusterRow]:
    row = ClusterRow(cast(Any, SimpleNamespace(name="one", uid="uid", limits=None, version="")), cast(Any, _Ends()))
    return _Table(row), row


async def test_it_wakes_once_its_former_self_has_ended() -> None:
    table, row = _table()
    resting = asyncio.create_task(table.rest(row))
    await table.before.ending.wait()
    waking = asyncio.create_task(table.awake(row))
    await asyncio.wait([waking], timeout=0.05)
    assert not waking.done()
    table.before.may_end.set()
    assert await waking is row.awake and table.before.has_ended
    await resting


async def test_one_that_is_deleted_while_it_ends_is_awaited() -> None:
    """Its keys are removed next: no controller may write then."""
    table, row = _table()
    resting = asyncio.create_task(table.rest(row))
    await table.before.ending.wait()
    table._drop(row)
    ended = asyncio.create_task(table.ended())
    await asyncio.wait([ended], timeout=0.05)
    assert not ended.done()
    table.before.may_end.set()
    await asyncio.gather(ended, resting)
    assert table.before.has_ended


class _Led(Awake):
    """A control plane as it begins, whose controllers run until they are ended."""

    def __init__(self, contents: Contents) -> None:
        common = CommonCache(b"/clusters/", lambda name: None)
        born = KeyValue(b"/clusters/u/born", b"", 5, 5, 1)
        self.part = PartCache(common, "u", Seeds(b"/clusters/u/", born, contents, lambda place: b""))
        self.part.is_as_begun, self.part.on_first_write = True, self._begin_controllers
        self.runs, self.running = 0, asyncio.Event()
        controllers = SimpleNamespace(lead=self._run, have_looked=True)
        self.gateway = cast(Any, SimpleNamespace(stopping=asyncio.Event(), controllers=controllers))
        self.database = cast(Any, SimpleNamespace(cache=self.part))
        self._fence = self._leading = self._resting = None
        self._minor = self.part.minor = DEFAULT
        self._looked_anew, self.serving = 0, nullcontext
        self._settling = []
        self.serving = nullcontext
        self.ended = False

    async def _run(self, fence: object) -> None:
        self.runs += 1
        self.running.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.running.clear()


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(awake, "_SOON", 0.0)


_FENCE = cast(Fence, "the fence")


@pytest.mark.usefixtures("soon")
async def test_controllers_that_found_nothing_to_do_run_again_once_somebody_writes() -> None:
    led = _Led(Contents([]))
    led.lead(_FENCE)
    await led.running.wait()
    led.settle()
    assert led._resting is not None
    await led._resting
    assert not led.running.is_set()
    led.part.written()
    await led.running.wait()
    led.settle()
    assert led.runs == 2 and led._resting is None, "they run on"
    await led.follow()


@pytest.mark.usefixtures("soon")
async def test_controllers_that_are_at_work_go_on() -> None:
    led = _Led(Contents([]))
    cast(Any, led.gateway.controllers).have_looked = False
    led.lead(_FENCE)
    await led.running.wait()
    led.settle()
    assert led._resting is None and led.running.is_set()
    await led.follow()


@pytest.mark.usefixtures("soon")
async def test_controllers_look_again_after_a_file_has_changed() -> None:
    contents = Contents([])
    led = _Led(contents)
    led.lead(_FENCE)
    await led.running.wait()
    contents.look_anew()
    led.settle()
    assert not contents.needs_nobody(DEFAULT) and led._resting is None, "they have looked at the former file"
    await led.follow()
    led.lead(_FENCE)
    led.settle()
    assert contents.needs_nobody(DEFAULT)
    assert not contents.needs_nobody("1.34"), "its controllers are others"
    contents.look_anew()
    assert not contents.needs_nobody(DEFAULT)
    await led.follow()


@pytest.mark.usefixtures("soon")
async def test_a_write_while_controllers_end_begins_new_ones() -> None:
    led = _Led(Contents([]))
    led.lead(_FENCE)
    await led.running.wait()
    led.settle()
    resting = led._resting
    assert resting is not None
    led.part.written()
    await resting
    await led.running.wait()
    assert led.runs == 2
    await led.follow()


async def test_an_equal_one_needs_controllers_from_its_first_write_on() -> None:
    contents = Contents([])
    contents.settle(DEFAULT)
    led = _Led(contents)
    led.part.written()
    assert led._leading is None, "another process leads"
    led.part.is_as_begun = True
    led.lead(_FENCE)
    assert led._leading is None
    led.part.written()
    await led.running.wait()
    await led.follow()
    led.part.is_as_begun = True
    led.part.written()
    assert led._leading is None, "it leads no more"
