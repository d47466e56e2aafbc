"""The door of a control plane that rests is made once for all requests, and anew with new credentials."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from gateway.clusters import table
from gateway.clusters.row import ClusterRow
from gateway.clusters.table import Table
from gateway.http.status import StatusError
from gateway.settings.control_planes import ClusterCredentials

OLD, NEW = ClusterCredentials("old", "key"), ClusterCredentials("new", "key")


class _Door:
    """Accepts the token that it was made with."""

    def __init__(self, authenticator: object, visitors: object, credentials: ClusterCredentials) -> None:
        self.credentials = credentials

    async def check(self, scope: Any) -> None:
        await asyncio.sleep(0)
        if scope["token"] != self.credentials.token:
            raise StatusError(401, "Unauthorized", "Unauthorized")


class _Table(Table):
    """A table of control planes that are read from etcd when the test says so."""

    def __init__(self) -> None:
        self.now, self.may_read, self.reads = OLD, asyncio.Event(), 0
        self._loads, self._rows = 0, {}
        self._means = cast(Any, SimpleNamespace(authenticator=lambda settings, store: None))

    def _needed(self, row: ClusterRow) -> ClusterCredentials:
        return self.now

    async def _beginning(self, of: Any) -> Any:
        self.reads += 1
        await self.may_read.wait()
        return None, None

    def _database(self, name: str, beginning: Any) -> Any:
        return SimpleNamespace(store=None)

    def _settings(self, of: Any, credentials: ClusterCredentials) -> Any: ...

    def _visitors(self, row: ClusterRow) -> Any: ...


@pytest.fixture
def row(monkeypatch: pytest.MonkeyPatch) -> ClusterRow:
    monkeypatch.setattr(table, "Door", _Door)
    return ClusterRow(cast(Any, SimpleNamespace(name="one", uid="uid")))


def _asked(made: _Table, row: ClusterRow, token: str) -> asyncio.Task[None]:
    return asyncio.create_task(made.admit(row, cast(Any, {"token": token})))


async def test_requests_at_once_read_etcd_once(row: ClusterRow) -> None:
    made = _Table()
    asked = [_asked(made, row, "old" if number == 7 else "none") for number in range(20)]
    await asyncio.sleep(0)
    made.may_read.set()
    found = await asyncio.gather(*asked, return_exceptions=True)
    assert [number for number, each in enumerate(found) if each is None] == [7]
    assert made.reads == 1 and row.opening is None


async def test_credentials_that_change_while_the_door_is_made_count(row: ClusterRow) -> None:
    made = _Table()
    old, new = _asked(made, row, "old"), _asked(made, row, "new")
    await asyncio.sleep(0)
    made.now = NEW
    made.may_read.set()
    found = await asyncio.gather(old, new, return_exceptions=True)
    assert isinstance(found[0], StatusError) and found[1] is None


async def test_a_door_that_is_made_during_a_load_of_all_objects_is_made_anew(row: ClusterRow) -> None:
    """The load may have missed the event of a restore, so what was read before it does not count."""
    made = _Table()
    made._rows = {"one": row}
    asked = _asked(made, row, "old")
    while not made.reads:
        await asyncio.sleep(0)
    made._close_doors()
    made.may_read.set()
    await asked
    assert made.reads == 2 and row.door is not None


async def test_a_door_that_is_made_while_it_wakes_changes_nothing(row: ClusterRow) -> None:
    """What is awake keeps its credentials, so that it is loaded anew once the Secret has other ones."""
    made = _Table()
    asked = _asked(made, row, "new")
    await asyncio.sleep(0)
    made.now = NEW
    row.awake, row.credentials, row.door = cast(Any, object()), OLD, None
    made.may_read.set()
    await asked
    assert row.credentials == OLD and row.door is None
