"""Deletions of many objects, each on its own: few come one by one, of many some are made at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from storage.entry import Entry

MANY = 100  # objects from which on several are deleted at the same time


async def delete_each(entries: Sequence[Entry], delete: Callable[[Entry], Awaitable[None]], at_once: int) -> None:
    """Awaits `delete` for each entry: in their order if there are few, else up to `at_once` of them together.

    So watchers of a small collection see it go in the order of names, as of kube-apiserver, whose collections are
    deleted by one worker (`--delete-collection-workers`). The first exception that `delete` raises ends it all.
    """
    pending = iter(entries)

    async def worker() -> None:
        for entry in pending:
            await delete(entry)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(1 if len(entries) < MANY else at_once):
                group.create_task(worker())
    except* Exception as failures:
        raise failures.exceptions[0] from None
