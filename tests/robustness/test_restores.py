"""After a restore of etcd, by any method, the cache is equal to etcd, and watches start again."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from storage.etcd import EtcdClient, EtcdSettings
from storage.history import Overrun
from tests.integration.reads.node import PATIENCE, Node
from tests.robustness.consistency import assert_consistent
from tests.robustness.members import Member

BUMPED = ("--bump-revision=1000000", "--mark-compacted")


async def equals_etcd(node: Node) -> None:
    """Waits until the cache is equal to etcd."""
    async with asyncio.timeout(PATIENCE):
        while True:
            await node.feed.ready.wait()
            there = await node.client.prefix(node.root + b"pods/")
            found = {entry.key: entry.revision for entry in node.pods.slice(0, 99)}
            if node.cache.reached >= there.revision and found == {kv.key: kv.mod_revision for kv in there.kvs}:
                return
            await asyncio.sleep(0.05)


@pytest.mark.parametrize(
    ("flags", "since", "head"),
    [((), 0, "blind"), ((), 8, "seen"), ((), 8, "blind"), (BUMPED, 0, "seen"), (BUMPED, 8, "blind")],
)
async def test_what_was_after_the_backup_is_gone(
    member: Member, tmp_path: Path, flags: tuple[str, ...], since: int, head: str
) -> None:
    """The restore is noticed even if cluster ID and term are as before and others write: old revisions then have other
    contents.
    """
    async with EtcdClient(EtcdSettings((member.endpoint,), timeout=60)) as client:
        node = Node(client, b"/registry/")
        async with node.running():
            for name in ("kept", "changed", "deleted"):
                await node.put(name, "1")
            await asyncio.to_thread(member.save, tmp_path / "backup")
            await node.put("changed", "2")
            await node.put("created", "1")
            last = await node.delete("deleted")
            await node.reaches(last)
            position = node.pods.history.end
            if head == "blind":
                node.feed.lineage.forget()
            await asyncio.to_thread(member.restore, tmp_path / "backup", *flags)
            for number in range(since):
                await node.put(f"new{number % 3}", str(number))
            await equals_etcd(node)
            await assert_consistent(node)
            keys = {entry.key for entry in node.pods.slice(0, 99)}
            assert {node.key(name) for name in ("kept", "changed", "deleted")} <= keys
            assert node.key("created") not in keys
            with pytest.raises(Overrun):
                node.pods.history.between(position, node.pods.history.end)
            async with asyncio.timeout(PATIENCE):
                while not await node.reads.fresh():  # it is given two seconds by itself
                    await asyncio.sleep(0)
            assert node.pods.get(node.key("deleted")) is not None


async def test_progress_past_the_last_change_hides_nothing(member: Member, tmp_path: Path) -> None:
    """The last change is the same as before, but revisions after it, which progress notifications told, are used
    again.
    """
    async with EtcdClient(EtcdSettings((member.endpoint,), timeout=60)) as client:
        node = Node(client, b"/registry/")
        async with node.running():
            await node.reaches(await node.put("kept", "1"))
            await asyncio.to_thread(member.save, tmp_path / "backup")
            for _ in range(8):
                revision = (await client.put(b"/elsewhere", b"")).revision
            async with asyncio.timeout(PATIENCE):
                while not await node.reads.not_older_than(revision):
                    await asyncio.sleep(0)
            await asyncio.to_thread(member.kill)
            node.feed.lineage.forget()
            node.feed._client = broken = EtcdClient(EtcdSettings(("http://127.0.0.1:1",)))
            await asyncio.to_thread(member.restore, tmp_path / "backup")
            for number in range(3):
                await node.put(f"new{number}", "1")
            for _ in range(8):
                await client.put(b"/elsewhere", b"")
            node.feed._client = client
            await equals_etcd(node)
            await broken.close()
