"""While one of three members is killed, stopped, cut off or paused, watches get events and requests are answered in
time.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Awaitable
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import pytest

from storage.embedded import find_binary
from storage.errors import Unanswered, Unavailable
from storage.etcd import EtcdClient, EtcdSettings
from tests.integration.reads.node import PATIENCE, Node
from tests.limits import Withheld, at_most, within
from tests.robustness.consistency import assert_consistent
from tests.robustness.members import Member
from tests.robustness.proxy import Proxy

HEARD = 6.0  # seconds until a watcher hears of a write
ANSWERED = 6.0  # seconds for a request: it may wait for the member that hangs, and the feed may come from there
OUTLIVED = 4.0  # seconds for an update whose member or leader is lost
LEFT = 2.7  # seconds until a member that hangs gets no more calls


@pytest.fixture
async def proxies(members: list[Member]) -> AsyncIterator[list[Proxy]]:
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(Proxy(member.client).running()) for member in members]


async def written(writer: EtcdClient, key: bytes) -> int:
    """The revision of a write. It may take several attempts while the members elect a leader."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                return (await writer.put(key, b"{}", timeout=1)).revision
            except Unavailable:
                await asyncio.sleep(0.05)


async def heard_in_time(node: Node, writer: EtcdClient, name: str) -> None:
    """A write by another client reaches watches, and reads are answered, each within its limit."""
    revision = await written(writer, node.key(name))
    async with in_time(HEARD):
        await node.cache.reach(revision)
    async with in_time(ANSWERED):
        assert await node.reads.get(node.pods, node.key(name)) is not None


@asynccontextmanager
async def in_time(seconds: float) -> AsyncIterator[None]:
    """Raises AssertionError if the block takes longer, and TimeoutError if it does not end."""
    with within(seconds):
        async with asyncio.timeout(PATIENCE):
            yield


class Requests:
    """Reads and writes of a client, one after the other, while a fault lasts."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.slowest = 0.0
        self.answered = 0
        self.failed: list[float] = []  # the start times of the failed ones

    async def reads(self) -> None:
        while True:
            await self._measured(self.node.reads.get(self.node.pods, self.node.key("before")))

    async def writes(self) -> None:
        number = 0
        while True:
            number += 1
            await self._measured(self.node.client.put(b"/elsewhere", b"%d" % number))

    async def _measured(self, request: Awaitable[object]) -> None:
        began = time.monotonic()
        try:
            await request
            self.answered += 1
        except Unavailable:
            self.failed.append(began)
        self.slowest = max(self.slowest, time.monotonic() - began)
        await asyncio.sleep(0.01)

    @asynccontextmanager
    async def going_on(self) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(work()) for work in (self.reads, self.writes)]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)


async def _begin(fault: str, member: Member, proxy: Proxy) -> None:
    match fault:
        case "kill":
            member.kill()
        case "pause":
            member.pause()
        case "cut":
            proxy.cut()
        case "hold":
            proxy.hold()
        case "silence":
            proxy.silence()
        case "silence streams":
            proxy.silence_streams()
        case "delay":
            proxy.delay = 0.2
        case "defragment":
            await _defragmenting(member)


async def _defragmenting(member: Member) -> None:
    """Has a member defragment a large database; it answers nothing meanwhile."""
    async with EtcdClient(EtcdSettings((member.endpoint,), timeout=PATIENCE)) as client:
        for number in range(60):
            await client.put(b"/large/%d" % number, os.urandom(1 << 20))
    program = str(find_binary().with_name("etcdctl"))
    words = (program, f"--endpoints={member.endpoint}", "--command-timeout=60s", "defrag")
    await asyncio.create_subprocess_exec(*words, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL)


@pytest.mark.parametrize("fault", ["kill", "pause", "cut", "hold", "silence", "silence streams", "delay", "defragment"])
async def test_one_of_three_may_fail(members: list[Member], proxies: list[Proxy], fault: str) -> None:
    """The member that is paused has the watch."""
    writer_settings = EtcdSettings((members[1].endpoint, members[2].endpoint))
    settings = EtcdSettings(tuple(proxy.endpoint for proxy in proxies))
    async with EtcdClient(settings) as client, EtcdClient(writer_settings) as writer:
        node = Node(client, b"/registry/")
        requests, withheld = Requests(node), Withheld()
        async with node.running():
            await heard_in_time(node, writer, "before")
            async with requests.going_on():
                await asyncio.sleep(0.2)
                await _begin(fault, members[0], proxies[0])
                began = time.monotonic()
                for number in range(3):
                    await heard_in_time(node, writer, f"after{number}")
                await asyncio.sleep(max(0.0, began + LEFT + 0.5 - time.monotonic()))
            await assert_consistent(node)
            at_most(requests.slowest, ANSWERED + withheld.until_now())
            left = LEFT + withheld.until_now()
            at_most(max(requests.failed, default=began) - began, left, "one failed that began {found:.1f} s later")
            assert requests.answered
            members[0].resume() if fault == "pause" else proxies[0].heal()
            await heard_in_time(node, writer, "healed")
            await assert_consistent(node)


async def test_a_read_and_a_write_are_not_kept_by_a_stopped_member(members: list[Member]) -> None:
    async with EtcdClient(EtcdSettings(tuple(member.endpoint for member in members))) as client:
        await written(client, b"/a")
        members[0].pause()
        async with in_time(ANSWERED):
            assert (await client.range(b"/a")).kvs
        with suppress(Unavailable):  # it may have been forwarded to the stopped leader
            async with in_time(ANSWERED):
                await client.put(b"/a", b"2")
        members[0].resume()


async def test_an_update_outlives_the_leader_that_it_was_forwarded_to(members: list[Member]) -> None:
    """etcd's own timeout is six seconds here: twice that of the election, and five."""
    leader = await _leader(members)
    others = tuple(member.endpoint for member in members if member is not leader)
    async with EtcdClient(EtcdSettings(others)) as client:
        before = await written(client, b"/a")
        leader.pause()
        try:
            async with in_time(OUTLIVED):
                assert (await client.update(b"/a", b"2", before, timeout=60)).succeeded
        finally:
            leader.resume()


@pytest.mark.parametrize("fault", ["hold", "silence"])
async def test_an_update_outlives_the_member_that_it_was_sent_to(
    members: list[Member], proxies: list[Proxy], fault: str
) -> None:
    async with EtcdClient(EtcdSettings(tuple(proxy.endpoint for proxy in proxies))) as client:
        before = await written(client, b"/a")
        asked = client._endpoints.current.address  # on a busy machine the write may have taken another member
        (proxy,) = (each for each in proxies if each.endpoint == asked)
        await _begin(fault, members[proxies.index(proxy)], proxy)
        updating = client.update(b"/a", b"2", before, timeout=60)
        async with in_time(OUTLIVED):
            if fault == "hold":
                assert (await updating).succeeded
            else:  # the member has made it, and its answer is lost
                with pytest.raises(Unanswered):
                    await updating
        proxy.heal()


async def _leader(members: list[Member]) -> Member:
    program = str(find_binary().with_name("etcdctl"))
    words = (program, f"--endpoints={','.join(member.endpoint for member in members)}", "endpoint", "status", "-w=json")
    asked = await asyncio.create_subprocess_exec(*words, stdout=asyncio.subprocess.PIPE)
    said, _ = await asked.communicate()
    told = {each["Endpoint"]: each["Status"] for each in json.loads(said)}
    (found,) = (each for each in members if told[each.endpoint]["header"]["member_id"] == told[each.endpoint]["leader"])
    return found


async def test_members_are_connected_again_before_they_are_needed(members: list[Member], proxies: list[Proxy]) -> None:
    async with (
        EtcdClient(EtcdSettings(tuple(proxy.endpoint for proxy in proxies))) as client,
        asyncio.timeout(PATIENCE),
    ):
        await written(client, b"/a")
        for proxy in proxies:
            proxy.cut()
            while proxy.is_used:
                await asyncio.sleep(0.02)
            proxy.heal()
            while not proxy.is_used:
                await asyncio.sleep(0.02)


async def test_progress_is_trusted_by_the_member_of_the_stream(
    members: list[Member], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second member is behind. After the first one is gone, the client checks the second again, and refuses it."""
    versions = iter([True, False, False])
    monkeypatch.setattr("storage.etcd.watch.progress_notifications_correct", lambda version: next(versions, False))
    monkeypatch.setattr("storage.etcd.watch.ANSWER", PATIENCE)  # none of them hangs, but all may be slow
    endpoints = tuple(member.endpoint for member in members)
    async with EtcdClient(EtcdSettings(endpoints, timeout=PATIENCE)) as client:
        node = Node(client, b"/registry/")
        async with node.running():
            await node.reaches(await node.put("a"))
            assert node.feed.progress_trusted
            members[0].kill()
            async with asyncio.timeout(PATIENCE), EtcdClient(EtcdSettings((members[1].endpoint,))) as writer:
                await node.cache.reach(await written(writer, node.key("b")))
            assert not node.feed.progress_trusted
