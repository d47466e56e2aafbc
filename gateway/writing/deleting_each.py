"""Deletes the objects of a collection: few one after the other, many concurrently."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from gateway.task_group import TaskGroup
from storage.entry import Entry

MANY = 100  # objects; as many or more are deleted concurrently


async def delete_each(entries: Sequence[Entry], delete: Callable[[Entry], Awaitable[None]], at_once: int) -> None:
    """Awaits `delete` for each entry: fewer than MANY in their order, more with `at_once` concurrent calls.

    So watches see a small collection deleted in the order of names, as in kube-apiserver, where one worker deletes
    (`--delete-collection-workers`). Raises the first exception of `delete`, and makes no more calls then.
    """
    pending = iter(entries)

    async def worker() -> None:
        for entry in pending:
            await delete(entry)

    try:
        async with TaskGroup() as group:
            for _ in range(1 if len(entries) < MANY else at_once):
                group.create_task(worker())
    except* Exception as failures:
        raise failures.exceptions[0] from None
