"""A cancelled task group leaves nothing that only the garbage collector finds."""

from __future__ import annotations

import asyncio
import gc
from weakref import ref

import pytest

from gateway.pieces import is_ending
from gateway.task_group import TaskGroup
from tests.unit.sources import with_word


class _Known:
    """What a task knows."""


async def _wait() -> None:
    await asyncio.Event().wait()


async def test_what_a_cancelled_task_knew_is_free() -> None:
    known = _Known()
    passed = ref(known)

    async def run(_: _Known) -> None:
        async with TaskGroup() as group:
            group.create_task(_wait())
            await _wait()

    task = asyncio.create_task(run(known))
    await asyncio.sleep(0)
    gc.disable()
    try:
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        del task, known
        await asyncio.sleep(0)
        assert passed() is None
    finally:
        gc.enable()


async def test_errors_of_its_tasks_are_raised() -> None:
    async def fail() -> None:
        raise ValueError("this one")

    with pytest.raises(ExceptionGroup) as raised:
        async with TaskGroup() as group:
            group.create_task(fail())
    assert [str(each) for each in raised.value.exceptions] == ["this one"]
    assert raised.value.__traceback__ is not None


def test_the_server_uses_no_other() -> None:
    assert set(with_word("asyncio.TaskGroup")) == {"gateway.task_group"}


async def test_a_parent_that_waits_for_failing_tasks_is_not_cancelled_afterwards() -> None:
    """Python 3.11 and 3.12 leave its count of cancellations at 1: its loop would take that for its own end."""
    fails = asyncio.Event()

    async def fail() -> None:
        await fails.wait()
        raise ValueError("this one")

    with pytest.raises(ExceptionGroup):
        async with TaskGroup() as group:
            group.create_task(fail())
            asyncio.get_running_loop().call_soon(fails.set)
    task = asyncio.current_task()
    assert task is not None and task.cancelling() == 0
    assert not is_ending()


async def test_a_parent_that_is_cancelled_while_its_tasks_fail_knows_that_it_ends() -> None:
    known = list[bool]()

    async def fail() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            raise ValueError("this one")

    async def run() -> None:
        try:
            async with TaskGroup() as group:
                group.create_task(fail())
        finally:
            known.append(is_ending())

    task = asyncio.create_task(run())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    assert known == [True]
