"""The end of a leader's term."""

from __future__ import annotations

import asyncio
import random
from typing import cast

import pytest

from gateway.controllers.actor import Actor
from gateway.controllers.election import Election
from gateway.task_group import TaskGroup
from storage.fence import Fence


class _Leases:
    """Stands for the endpoint of leases."""

    def key(self, namespace: str, name: str) -> bytes:
        return f"{namespace}/{name}".encode()


class _Actor:
    def of(self, group: str, version: str, resource: str) -> _Leases:
        return _Leases()


async def test_a_term_ends_though_a_controller_answers_its_cancellation_by_an_error() -> None:
    """A TaskGroup of Python 3.11 raises the error. The controllers were begun anew, and the process never led again."""
    stopping, begun = asyncio.Event(), asyncio.Event()
    election = Election(cast(Actor, _Actor()), stopping)
    terms = 0

    async def controller() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            raise ValueError("while it ends")

    async def lead(fence: Fence) -> None:
        nonlocal terms
        terms += 1
        async with asyncio.TaskGroup() as group:
            group.create_task(controller())
            await asyncio.Event().wait()

    term = asyncio.create_task(election.hold(lead))
    await begun.wait()
    stopping.set()
    done, _ = await asyncio.wait((term,), timeout=30)
    assert done and terms == 1
    term.result()


@pytest.mark.parametrize("by_another", [False, True])
async def test_controllers_are_begun_again_after_an_error_that_ends_them(
    by_another: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error comes while their task group waits for them, or they await what another task has cancelled."""
    monkeypatch.setattr(random, "random", lambda: -1.0)
    stopping, again = asyncio.Event(), asyncio.Event()
    election = Election(cast(Actor, _Actor()), stopping)
    terms = 0

    async def controller() -> None:
        if by_another:
            cancelled = asyncio.get_running_loop().create_future()
            cancelled.cancel()
            await cancelled
        raise ValueError("this time")

    async def lead(fence: Fence) -> None:
        nonlocal terms
        terms += 1
        if terms > 1:
            again.set()
            await asyncio.Event().wait()
        if by_another:
            await controller()
        async with TaskGroup() as group:
            group.create_task(controller())

    term = asyncio.create_task(election.hold(lead))
    await asyncio.wait_for(again.wait(), 60)
    stopping.set()
    await asyncio.wait((term,), timeout=60)
    assert term.done()
