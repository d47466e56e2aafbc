"""Watches that start in the past share the reads of etcd's history; each gets what it missed, with few streams."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from storage import catching_up
from storage.catching_up import STREAMS_EACH, Pasts
from storage.errors import Compacted
from storage.etcd import EtcdClient
from storage.history import Overrun
from storage.waiters import Interest, InterestKind
from tests.etcd_version import older_than
from tests.integration.reads.node import PATIENCE, Node

CHANGES = 600
needs_progress = pytest.mark.skipif(older_than((3, 5, 13)), reason="etcd before 3.5.13 tells progress ahead of events")


@pytest.fixture
async def node(own_client: EtcdClient) -> AsyncIterator[Node]:
    """A node whose history begins after the changes of `p0` to `p6`, which are in etcd."""
    node = Node(own_client, b"/registry/")
    async with node.running():
        for number in range(CHANGES):
            await node.put(f"p{number % 7}", str(number))
        await node.reaches(await node.put("last"))
        history = node.pods.history
        while history.first < history.end:
            history._drop()
        yield node


class Streams:
    """The etcd streams of a client: how many were opened, and how many were open at once."""

    def __init__(self) -> None:
        self.opened = self.most = 0


@contextmanager
def counted(client: EtcdClient, pasts: Pasts) -> Iterator[Streams]:
    found, watch = Streams(), client.watch

    def opened(*arguments: Any, **named: Any) -> Any:
        found.opened += 1
        found.most = max(found.most, pasts.streams)
        return watch(*arguments, **named)

    client.watch = opened  # type: ignore[method-assign]
    try:
        yield found
    finally:
        client.watch = watch  # type: ignore[method-assign]


async def caught_up(pasts: Pasts, node: Node, revision: int, interest: Interest | None = None) -> list[tuple[str, int]]:
    """The events of a watch that starts at a revision, until the cache takes over."""
    found: list[tuple[str, int]] = []
    async with asyncio.timeout(PATIENCE), pasts.following(node.pods, revision, interest) as reader:
        while reader.revision < node.pods.history.start:
            if await reader.next():
                window = reader.past.window
                end = min(window.end, reader.position + 50)
                found += [
                    (change.key.decode().rpartition("/")[2], change.revision)
                    for change in window.between(reader.position, end)
                ]
                reader.position = end
                await asyncio.sleep(0)
    return found


async def test_a_crowd_shares_a_stream_or_two(node: Node) -> None:
    pasts, last = Pasts(node.client), node.cache.reached
    revisions = [random.Random(number).randrange(last - CHANGES, last - 1) for number in range(300)]
    with counted(node.client, pasts) as streams:
        told = await asyncio.gather(*(caught_up(pasts, node, revision) for revision in revisions))
    for revision, each in zip(revisions, told, strict=True):
        assert [at for _, at in each] == list(range(revision + 1, last + 1))
    assert streams.opened <= 2


async def test_who_wants_one_object_is_told_of_all_its_changes(node: Node) -> None:
    pasts, last = Pasts(node.client), node.cache.reached
    everything = await caught_up(pasts, node, last - CHANGES)

    async def one(number: int) -> None:
        name, revision = f"p{number % 7}", last - random.Random(number).randrange(1, CHANGES)
        await asyncio.sleep(number % 3 * 0.05)  # some come while others are being read
        told = await caught_up(pasts, node, revision, Interest(InterestKind.KEY, "", node.key(name)))
        assert [each for each in told if each[0] == name] == [
            each for each in everything if each[0] == name and each[1] > revision
        ]

    with counted(node.client, pasts) as streams:
        await asyncio.gather(*map(one, range(100)))
    assert streams.opened <= 3


@needs_progress
async def test_streams_are_bounded_whatever_comes(node: Node) -> None:
    """Each reader starts at an earlier revision than the one before it, so that no stream has what the next reader
    needs.
    """
    pasts, last = Pasts(node.client), node.cache.reached

    async def late(number: int) -> list[tuple[str, int]]:
        await asyncio.sleep(number * 0.03)
        return await caught_up(pasts, node, last - 10 * (number + 1))

    with counted(node.client, pasts) as streams:
        told = await asyncio.gather(*map(late, range(50)))
    assert [len(each) for each in told] == [10 * (number + 1) for number in range(50)]
    assert streams.most <= STREAMS_EACH


async def test_only_who_needs_what_is_compacted_is_refused(node: Node) -> None:
    pasts, last = Pasts(node.client), node.cache.reached
    await node.client.compact(last - 100)
    gone, there = await asyncio.gather(
        caught_up(pasts, node, last - 300), caught_up(pasts, node, last - 100), return_exceptions=True
    )
    assert isinstance(gone, Compacted)
    assert not isinstance(there, BaseException) and [at for _, at in there] == list(range(last - 99, last + 1))


@needs_progress
async def test_who_does_not_read_holds_up_nobody(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither readers of the same stream, nor those that wait for a stream."""
    monkeypatch.setattr(catching_up, "PART", 10)
    monkeypatch.setattr(catching_up, "SLOW_READER_TIMEOUT", 0.2)
    monkeypatch.setattr(catching_up, "STREAMS_EACH", 1)
    monkeypatch.setattr(catching_up, "WINDOW_CHANGES", 50)
    pasts, last = Pasts(node.client), node.cache.reached
    async with pasts.following(node.pods, last - 500) as idle:
        assert await idle.next()
        assert len(await caught_up(pasts, node, last - 400)) == 400
        with pytest.raises(Overrun):
            idle.past.window.between(idle.position, idle.position + 1)
    async with pasts.following(node.pods, last - 300) as idle:
        assert await idle.next()
        assert len(await caught_up(pasts, node, last - 500)) == 500
        with pytest.raises(Overrun):
            await idle.next()


async def test_what_was_read_is_kept_for_a_moment(node: Node) -> None:
    pasts, last = Pasts(node.client), node.cache.reached
    with counted(node.client, pasts) as streams:
        for _ in range(5):
            assert len(await caught_up(pasts, node, last - 200)) == 200
    assert streams.opened == 1
    assert pasts.streams == 0
