"""An announcement of unfinished work stays until the work is done, and as long as a write that it is for may come."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from gateway.clusters import unfinished
from gateway.clusters.definition import ANNOUNCEMENTS, MAKING, READY
from gateway.clusters.unfinished import KEPT, UnfinishedWork
from storage.errors import Unavailable
from storage.etcd import KeyValue

ROOT = b"/x-clusters/"


class _Etcd:
    """The announcements in etcd, by uid with their mod revisions."""

    def __init__(self, **revisions: int) -> None:
        self.revisions = revisions
        self.client = self

    async def prefix(self, prefix: bytes, *, keys_only: bool) -> Any:
        return SimpleNamespace(
            kvs=[KeyValue(prefix + uid.encode(), b"", 1, at, 1) for uid, at in self.revisions.items()]
        )

    async def txn(self, compare: list[Any], success: list[Any]) -> None:
        uid = compare[0].key.rpartition(b"/")[2].decode()
        assert compare[0].key == success[0].request_delete_range.key == ROOT + ANNOUNCEMENTS + uid.encode()
        if self.revisions.get(uid) == compare[0].mod_revision:
            del self.revisions[uid]


class _Table:
    """Control planes by uid. `woken` has those that were woken."""

    def __init__(self) -> None:
        self.common, self.rows, self.woken = SimpleNamespace(root=ROOT), dict[str, Any](), list[str]()
        self.ready, self.templates, self.uids = asyncio.Event(), SimpleNamespace(), ()

    def of_uid(self, uid: str) -> Any:
        return self.rows.get(uid)

    def has(self, uid: str, phase: str = READY, awake: Any = None) -> None:
        self.rows[uid] = SimpleNamespace(described=SimpleNamespace(phase=phase, name=uid), awake=awake)

    async def awake(self, row: Any) -> None:
        self.woken.append(row.described.name)
        if row.described.name == "broken":
            raise ValueError("its Secret is no Secret")


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The monotonic clock."""
    time = [100.0]
    monkeypatch.setattr(unfinished, "monotonic", lambda: time[0])
    return time


def of(table: _Table, etcd: _Etcd) -> UnfinishedWork:
    return UnfinishedWork(cast(Any, table), cast(Any, etcd))


async def test_those_at_rest_are_woken_also_beside_one_that_cannot_be(
    now: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    table, etcd = _Table(), _Etcd(a=1, broken=2, b=3, making=4, awake=5)
    for name in ("a", "broken", "b", "untouched"):
        table.has(name)
    table.has("making", MAKING)
    table.has("awake", awake=SimpleNamespace(is_done=False))
    await of(table, etcd)._look(None)
    assert sorted(table.woken) == ["a", "b", "broken"] and len(etcd.revisions) == 5
    assert [each.getMessage() for each in caplog.records] == [
        "a control plane with unfinished work could not be loaded"
    ]


async def test_a_look_that_fails_is_told_and_does_not_end_the_next_ones(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    table, etcd = _Table(), _Etcd()
    table.ready.set()
    looks = list[object]()

    async def fail(*_: object, keys_only: bool = True) -> None:
        looks.append(keys_only)
        raise Unavailable("no answer")

    monkeypatch.setattr(unfinished, "LOOK", 0.0)
    monkeypatch.setattr(etcd, "prefix", fail)
    table.templates = SimpleNamespace(end_remnants=fail)
    running = asyncio.create_task(of(table, etcd).run())
    while len(looks) < 3:
        await asyncio.sleep(0)
    running.cancel()
    await asyncio.wait([running])
    assert [each.getMessage() for each in caplog.records][:2] == [
        "templates of control planes that are gone could not be removed",
        "control planes with unfinished work could not be found",
    ]


@pytest.mark.parametrize(("done", "kept"), [(True, False), (False, True)])
async def test_it_is_removed_when_the_work_is_done(now: list[float], done: bool, kept: bool) -> None:
    table, etcd = _Table(), _Etcd(a=1)
    table.has("a", awake=SimpleNamespace(is_done=done))
    work = of(table, etcd)
    await work._look(None)
    assert etcd.revisions, "a write that it is for may come"
    now[0] += KEPT
    await work._look(None)
    assert bool(etcd.revisions) is kept


async def test_one_that_was_put_anew_stays(now: list[float]) -> None:
    table, etcd = _Table(), _Etcd(a=1)
    table.has("a", awake=SimpleNamespace(is_done=True))
    work = of(table, etcd)
    await work._look(None)
    now[0], etcd.revisions["a"] = now[0] + KEPT, 2
    await work._look(None)
    assert etcd.revisions


async def test_one_of_a_control_plane_that_is_gone_is_removed(now: list[float]) -> None:
    etcd = _Etcd(gone=1)
    work = of(_Table(), etcd)
    await work._look(None)
    now[0] += KEPT
    await work._look(None)
    assert not etcd.revisions
