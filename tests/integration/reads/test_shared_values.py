"""Keys and values of any form reach the nodes that follow a feeder as they are in etcd."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from storage.entry import MARK
from storage.etcd import EtcdClient
from storage.sharing.records import HEAD, PACKET, SEGMENT, PacketType
from storage.sharing.shared_watch import FeederLost, SharedWatch
from storage.watch_cache import WatchCache
from tests.integration.reads.feeder import Feeder, shares
from tests.integration.reads.node import Node
from tests.robustness.consistency import assert_consistent
from tests.unit.storage.canonical import canonical

LENGTHS = [PACKET, 0xFFFF, 2 * PACKET + 5000, 300_000]


@pytest.fixture
async def feeder(etcd_client: EtcdClient, prefix: bytes, tmp_path: Path) -> AsyncIterator[Feeder]:
    feeder = Feeder(etcd_client, prefix, tmp_path / "feeder")
    feeder.start()
    yield feeder
    await feeder.close()


@pytest.fixture
def node(etcd_client: EtcdClient, prefix: bytes, feeder: Feeder) -> Node:
    return Node(etcd_client, prefix, feeder.path)


async def test_keys_that_are_longer_than_a_packet_are_told(node: Node, feeder: Feeder) -> None:
    """Names of roles may be of any length."""
    await node.put("first" * 30_000)
    async with node.running():
        await shares(node)
        names = [f"{number}" + "a" * length for number, length in enumerate(LENGTHS)]
        for name in names:
            await node.put(name)
        await node.delete(names[-1])
        last = await node.put("b")
        await node.reaches(last)
        await shares(node)
        # by length: pytest's message about the names would fill the screen
        lengths = [len(key) for key in node.pods.all_keys()]
        assert lengths == [len(node.key(each)) for each in (*names[:-1], "b", "first" * 30_000)]
        assert not any(task.done() for task in feeder._tasks)
        await assert_consistent(node)


async def test_white_space_at_the_end_of_a_value_stays(
    etcd_client: EtcdClient, node: Node, feeder: Feeder, caplog: pytest.LogCaptureFixture
) -> None:
    async with node.running():
        await shares(node)
        value = canonical("a")[: -len(MARK)] + b"  " + MARK
        await node.reaches((await etcd_client.put(node.key("a"), value)).revision)
        entry = node.pods.get(node.key("a"))
        assert entry is not None and entry.stored().raw == value
        await feeder.kill()
        await shares(node, False)
        await node.reaches(await node.put("b"))  # its own watch has begun, and compares the last value
        assert "etcd's history has changed" not in caplog.text


@pytest.mark.parametrize(
    "packet",
    [HEAD.pack(PacketType.SEGMENT, 1) + SEGMENT.pack(1 << 20), b"\x01"],
    ids=["no descriptor", "no whole head"],
)
async def test_what_lacks_something_ends_the_connection(packet: bytes) -> None:
    """A segment without its file descriptor: the worker may have reached its limit."""
    feeder, worker = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with feeder:
        watch = SharedWatch(worker, WatchCache(b"/registry/"), lambda: 0)
        feeder.send(packet)
        await watch.ended.wait()
        with pytest.raises(FeederLost, match="the feeder is not understood"):
            await anext(watch)
