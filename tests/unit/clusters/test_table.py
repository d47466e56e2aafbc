"""The table puts idle control planes to rest, and goes on after one that cannot be."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from gateway.clusters import table
from gateway.clusters.table import Table


def row(name: str, since: float | None) -> Any:
    return SimpleNamespace(described=SimpleNamespace(name=name), awake=SimpleNamespace(rests_since=lambda: since))


class _Rows(Table):
    """A table of given rows, of which one cannot be put to rest."""

    def __init__(self, rows: list[Any]) -> None:
        self.given, self.rested, self.looked = rows, list[str](), asyncio.Event()

    def __iter__(self) -> Iterator[Any]:
        yield from self.given
        self.looked.set()

    async def rest(self, row: Any) -> None:
        if row.described.name == "broken":
            raise ValueError("it does not end")
        self.rested.append(row.described.name)


async def test_idle_control_planes_rest(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(table, "LOOK", 0.0)
    now = 10_000.0
    monkeypatch.setattr(table, "monotonic", lambda: now)
    idle, busy = now - table.IDLE - 1, now - table.IDLE + 1
    rows = _Rows([row("broken", idle), row("idle", idle), row("used", busy), row("works", None)])
    looking = asyncio.create_task(cast(Any, rows)._rest())
    await rows.looked.wait()
    looking.cancel()
    await asyncio.gather(looking, return_exceptions=True)
    assert set(rows.rested) == {"idle"}
    assert caplog.records[0].getMessage() == "a control plane could not be put to rest"
    assert cast(Any, caplog.records[0]).cluster == "broken"
