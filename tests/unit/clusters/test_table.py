"""The table puts idle control planes to rest, and goes on after one that cannot be."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from gateway.clusters import table
from gateway.clusters.table import Table
from gateway.http.status import StatusError


def row(name: str, since: float | None, credentials: str = "as in the Secret") -> Any:
    awake = SimpleNamespace(rests_since=lambda: since)
    described = SimpleNamespace(name=name)
    return SimpleNamespace(described=described, awake=awake, credentials=credentials, begun=None, restores=0)


class _Rows(Table):
    """A table of given rows, of which one cannot be put to rest."""

    def __init__(self, rows: list[Any]) -> None:
        self.given, self.rested, self.looked = rows, list[str](), asyncio.Event()

    def __iter__(self) -> Iterator[Any]:
        yield from self.given
        self.looked.set()

    def _credentials(self, of: Any) -> Any:
        return "as in the Secret"

    async def _beginning(self, of: Any) -> Any:
        return None, None

    def _made(self, row: Any, credentials: Any, beginning: Any) -> Any:
        raise ValueError("this is not a key")

    async def rest(self, row: Any) -> None:
        if row.described.name == "broken":
            raise ValueError("it does not end")
        self.rested.append(row.described.name)


async def test_idle_control_planes_rest(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(table, "LOOK", 0.0)
    now = 10_000.0
    monkeypatch.setattr(table, "monotonic", lambda: now)
    idle, busy = now - table.IDLE - 1, now - table.IDLE + 1
    rows = _Rows(
        [row("broken", idle), row("idle", idle), row("used", busy), row("works", None), row("revoked", busy, "before")]
    )
    looking = asyncio.create_task(cast(Any, rows)._rest())
    await rows.looked.wait()
    looking.cancel()
    await asyncio.gather(looking, return_exceptions=True)
    assert set(rows.rested) == {"idle", "revoked"}
    assert caplog.records[0].getMessage() == "a control plane could not be unloaded"
    assert cast(Any, caplog.records[0]).cluster == "broken"


async def test_one_that_cannot_be_made_awake_is_unavailable(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(StatusError, match="the control plane cannot be loaded") as refused:
        await cast(Any, _Rows([]))._wake(row("bad", None))
    assert refused.value.code == 503
    assert caplog.records[0].getMessage() == "a control plane could not be loaded"
