"""With any one of three members killed, stopped, cut off or held, everybody hears of writes and is answered in time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress

import pytest

from storage.errors import Unavailable
from storage.etcd import EtcdClient, EtcdSettings
from tests.integration.reads.node import PATIENCE, Node
from tests.robustness.consistency import assert_consistent
from tests.robustness.members import Member
from tests.robustness.proxy import Proxy

HEARD = 6.0  # seconds until a watcher hears of a write
ANSWERED = 3.0  # seconds for a read


@pytest.fixture
async def proxies(members: list[Member]) -> AsyncIterator[list[Proxy]]:
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(Proxy(member.client).running()) for member in members]


async def written(writer: EtcdClient, key: bytes) -> int:
    """The revision of a write, which may take several attempts while the members elect a leader."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                return (await writer.put(key, b"{}", timeout=1)).revision
            except Unavailable:
                await asyncio.sleep(0.05)


async def heard_in_time(node: Node, writer: EtcdClient, name: str) -> None:
    """A write elsewhere is heard of, and reads are answered, each in its time."""
    revision = await written(writer, node.key(name))
    began = time.monotonic()
    async with asyncio.timeout(HEARD):
        await node.cache.reach(revision)
    heard = time.monotonic() - began
    async with asyncio.timeout(ANSWERED):
        assert await node.reads.get(node.pods, node.key(name)) is not None
    assert heard < HEARD


@pytest.mark.parametrize("fault", ["kill", "pause", "cut", "hold"])
async def test_one_of_three_may_fail(members: list[Member], proxies: list[Proxy], fault: str) -> None:
    """It is the one that holds the watch."""
    writer_settings = EtcdSettings((members[1].endpoint, members[2].endpoint))
    settings = EtcdSettings(tuple(proxy.endpoint for proxy in proxies))
    async with EtcdClient(settings) as client, EtcdClient(writer_settings) as writer:
        node = Node(client, b"/registry/")
        async with node.running():
            await heard_in_time(node, writer, "before")
            match fault:
                case "kill":
                    members[0].kill()
                case "pause":
                    members[0].pause()
                case "cut":
                    proxies[0].cut()
                case "hold":
                    proxies[0].hold()
            await asyncio.sleep(0.2)
            for number in range(3):
                await heard_in_time(node, writer, f"after{number}")
            await assert_consistent(node)
            if fault == "pause":
                members[0].resume()


async def test_a_read_and_a_write_are_not_kept_by_a_stopped_member(members: list[Member]) -> None:
    async with EtcdClient(EtcdSettings(tuple(member.endpoint for member in members))) as client:
        await client.put(b"/a", b"1")
        members[0].pause()
        async with asyncio.timeout(ANSWERED):
            assert (await client.range(b"/a")).kvs
        with suppress(Unavailable):  # it may be on its way to the leader when that is the one that stopped
            async with asyncio.timeout(ANSWERED):
                await client.put(b"/a", b"2")
        members[0].resume()


async def test_progress_is_trusted_by_the_member_of_the_stream(
    members: list[Member], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the first member is gone the next is asked anew, and is too old to be trusted."""
    versions = iter([True, False, False])
    monkeypatch.setattr("storage.etcd.watch.progress_notifications_correct", lambda version: next(versions))
    async with EtcdClient(EtcdSettings(tuple(member.endpoint for member in members))) as client:
        node = Node(client, b"/registry/")
        async with node.running():
            await node.reaches(await node.put("a"))
            assert node.feed.progress_trusted
            members[0].kill()
            async with asyncio.timeout(HEARD), EtcdClient(EtcdSettings((members[1].endpoint,))) as writer:
                await node.cache.reach(await written(writer, node.key("b")))
            assert not node.feed.progress_trusted
