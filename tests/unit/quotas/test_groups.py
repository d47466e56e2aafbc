"""Writes that are charged in groups: which ones together, and a group that fails fails alone."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from gateway.quotas.amounts import Amounts
from gateway.quotas.groups import AT_ONCE, MOST, WriteQueue, _Member
from gateway.quotas.known import Charged, KnownQuotas
from gateway.quotas.quota import Quota
from storage.change import Changed
from storage.protocol import Swap


class Failing(KnownQuotas):
    """All writes fit into the quota. At one place the first call fails, with an error that no known code raises."""

    def __init__(self, where: str) -> None:
        store: Any = SimpleNamespace(cache=SimpleNamespace(root=b"/registry/", of_key=lambda key: None))
        super().__init__(store)
        self._where = where

    def _fails(self, where: str) -> None:
        if where == self._where:
            self._where = ""
            raise RuntimeError(where)

    def of(self, namespace: str) -> list[Quota]:
        self._fails("read")
        return []

    def check(self, charged: Charged, quotas: Sequence[Quota] | None = None) -> dict[Quota, Amounts]:
        return {}

    @property
    def comparable(self) -> bool:
        self._fails("charged")
        return True


@pytest.mark.parametrize("where", ["read", "charged"])
async def test_a_group_that_fails_fails_alone(where: str) -> None:
    charge: Any = SimpleNamespace(namespace="n", apart=True)
    changed: Any = SimpleNamespace(revision=1)

    async def write(swaps: Sequence[Swap]) -> Changed:
        return changed  # type: ignore[no-any-return]

    line, behind = WriteQueue(Failing(where), "n"), 6
    writes = (line.made(charge, write) for _ in range(MOST + behind))
    async with asyncio.timeout(60):
        ended = await asyncio.gather(*writes, return_exceptions=True)
    assert [str(each) for each in ended[:MOST]] == [where] * MOST
    assert ended[MOST:] == [changed] * behind
    assert await asyncio.wait_for(line.made(charge, write), 60) is changed


async def test_charges_that_cannot_be_given_back_are_told_of(caplog: pytest.LogCaptureFixture) -> None:
    line = WriteQueue(Failing("read"), "n")
    owed: Any = None
    line._owed = {b"/registry/resourcequotas/n/q": owed}
    await line._run()
    assert "the quota usage of failed writes was not reduced; the next recount corrects it" in caplog.text


class Many(Failing):
    """A namespace with many quotas, to which nothing is charged."""

    def __init__(self) -> None:
        super().__init__("")
        quotas: list[Any] = [SimpleNamespace(key=b"/registry/resourcequotas/n/q%d" % n) for n in range(AT_ONCE + 1)]
        self._quotas: list[Quota] = quotas
        self.checks = 0

    def of(self, namespace: str) -> list[Quota]:
        return self._quotas

    def check(self, charged: Charged, quotas: Sequence[Quota] | None = None) -> dict[Quota, Amounts]:
        self.checks += 1
        return {}


async def test_other_tasks_run_between_the_writes_of_a_group_with_many_quotas() -> None:
    """Each write is compared with each quota: a group would hold everybody for as long as their product takes."""
    charge: Any = SimpleNamespace(namespace="n", apart=True)
    changed: Any = SimpleNamespace(revision=1)
    known, most = Many(), 0

    async def write(swaps: Sequence[Swap]) -> Changed:
        return changed  # type: ignore[no-any-return]

    line = WriteQueue(known, "n")
    writes = asyncio.gather(*(line.made(charge, write) for _ in range(MOST)))
    async with asyncio.timeout(60):
        while not writes.done():
            before = known.checks
            await asyncio.sleep(0)
            most = max(most, known.checks - before)
    assert (known.checks, most) == (MOST, 1)


def member(*, apart: bool = False, alone: bool = False) -> _Member:
    charged: Any = SimpleNamespace(namespace="n", apart=apart)
    loop = asyncio.get_running_loop()
    return _Member(charged, alone, loop.create_future(), loop.create_future())


def line_of(*members: _Member, comparable: bool = True) -> WriteQueue:
    line = WriteQueue(cast(Any, SimpleNamespace(comparable=comparable)), "n")
    line._waiting.extend(members)
    return line


async def test_a_write_that_lost_its_charge_often_is_charged_with_no_other() -> None:
    """Neither with those before it, nor with those behind it, nor while something is owed."""
    before, often, behind = member(), member(alone=True), member()
    line = line_of(before, often, behind)
    assert [line._next() for _ in range(4)] == [[before], [often], [behind], []]
    line, owed = line_of(often, behind), cast(Any, None)
    line._owed = {b"q": owed}
    assert line._next() == [], "what is owed is given back first"
    line._owed = {}
    assert [line._next(), line._next()] == [[often], [behind]]


async def test_without_a_comparison_of_values_each_write_is_charged_alone() -> None:
    one, other = member(), member()
    line = line_of(one, other, comparable=False)
    assert [line._next(), line._next()] == [[one], [other]]


async def test_writes_to_another_etcd_are_always_charged_in_groups() -> None:
    those = [member(apart=True, alone=True), member(apart=True), member()]
    assert line_of(*those)._next() == those
    assert line_of(*those[:2], comparable=False)._next() == those[:2]


async def test_a_group_is_of_a_limited_number_of_writes_whose_clients_wait() -> None:
    those, gone = [member() for _ in range(MOST + 1)], [member(), member()]
    gone[0].ended.cancel()
    gone[1].go.cancel()
    line = line_of(those[0], *gone, *those[1:])
    assert (line._next(), line._next()) == (those[:MOST], those[MOST:])
