"""A restarted server has the history of the last minutes, and watches resume where they ended."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from storage.entry import Change
from storage.etcd import EtcdClient, EtcdSettings
from storage.history import Overrun
from tests.integration.reads.node import Node
from tests.robustness.members import cluster


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[EtcdClient]:
    with cluster(tmp_path, 1) as (member,):
        async with EtcdClient(EtcdSettings((member.endpoint,), timeout=60)) as client:
            yield client


async def test_the_history_is_that_of_who_was_there(client: EtcdClient) -> None:
    first, second = Node(client, b"/registry/"), Node(client, b"/registry/")
    async with first.running():
        started = first.cache.reached
        for number in range(300):
            await first.put(f"p{number % 7}", str(number))
            if number % 5 == 0:
                await first.delete(f"p{number % 7}")
        await client.put(b"/registry/nobodys/key", b"")
        last = await first.put("last")
        await first.reaches(last)
        async with second.running():
            seen, seeded = first.pods.history, second.pods.history
            for revision in (started, started + 100, last):
                there = seen.between(seen.position_after(revision), seen.end)
                here = seeded.between(seeded.position_after(revision), seeded.end)
                assert [_told(each) for each in here] == [_told(each) for each in there]


async def test_it_begins_where_etcd_has_forgotten(client: EtcdClient) -> None:
    node = Node(client, b"/registry/")
    revisions = [await node.put("a", str(number)) for number in range(10)]
    await client.compact(revisions[5])
    async with node.running():
        history = node.pods.history
        position = history.position_after(revisions[6])
        assert [each.revision for each in history.between(position, history.end)] == revisions[7:]
        with pytest.raises(Overrun):
            history.position_after(revisions[3])


def _told(change: Change) -> tuple[object, ...]:
    entry, previous = change.entry, change.previous
    return change.type, entry.key, entry.revision, entry.tail, previous and previous.tail
