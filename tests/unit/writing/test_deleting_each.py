"""deletecollection: many objects are deleted concurrently; few one after the other, as watchers expect."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gateway.writing.deleting_each import MANY, delete_each


def entries(count: int) -> Any:
    return range(count)


async def test_few_go_one_after_the_other() -> None:
    loop = asyncio.get_running_loop()
    begun = list[int]()
    done = list[int]()

    async def delete(entry: Any) -> None:
        assert begun == done, "another one has not ended"
        begun.append(entry)
        turn = loop.create_future()
        loop.call_soon(turn.set_result, None)
        await turn
        done.append(entry)

    await delete_each(entries(MANY - 1), delete, 4)
    assert done == list(range(MANY - 1))


async def test_of_many_as_many_as_told_are_made_together() -> None:
    together = asyncio.Barrier(4)
    done = list[int]()

    async def delete(entry: Any) -> None:
        await together.wait()
        done.append(entry)

    assert MANY % 4 == 0
    async with asyncio.timeout(30):
        await delete_each(entries(MANY), delete, 4)
    assert sorted(done) == list(range(MANY))


async def test_the_first_failure_ends_it() -> None:
    begun = list[int]()

    async def delete(entry: Any) -> None:
        begun.append(entry)
        if entry == 2:
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await delete_each(entries(5), delete, 4)
    assert begun == [0, 1, 2]
