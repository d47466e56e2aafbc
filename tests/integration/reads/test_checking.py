"""A cache that is not what etcd is gets noticed, counted and healed."""

from __future__ import annotations

import asyncio

from storage.checking import Checker
from storage.etcd import EtcdClient
from tests.integration.reads.node import PATIENCE, Node
from tests.unit.storage.canonical import canonical


async def test_what_agrees_is_left_alone_while_others_write(etcd_client: EtcdClient, prefix: bytes) -> None:
    node = Node(etcd_client, prefix)
    async with node.running():
        checker = Checker(etcd_client, node.cache, node.feed.load_anew)
        for number in range(20):
            revision = await node.put(f"p{number}")
        await node.reaches(revision)
        generation = node.pods.generation
        writes = [asyncio.ensure_future(node.put(f"p{number}", "2")) for number in range(20)]
        findings = [await checker.check() for _ in range(5)]
        await asyncio.gather(*writes)
        assert [each.status for found in findings for each in found] == ["success"] * 5
        assert all(each.cached == each.stored and each.revision for found in findings for each in found)
        assert node.pods.generation == generation
        assert checker.counts == {(prefix + b"pods/", "success"): 5}


async def test_what_differs_is_loaded_anew(etcd_client: EtcdClient, prefix: bytes) -> None:
    node = Node(etcd_client, prefix)
    async with node.running():
        checker = Checker(etcd_client, node.cache, node.feed.load_anew)
        await node.reaches(await node.put("a"))
        revision = await node.put("b")
        await node.reaches(revision)
        node.pods.load([(node.key("a"), canonical("a"), revision), (node.key("c"), canonical("c"), revision)])
        (finding,) = await checker.check()
        assert (finding.status, finding.revision) == ("failure", revision)
        async with asyncio.timeout(PATIENCE):
            await node.feed.ready.wait()
        assert [entry.key for entry in node.pods.slice(0, 9)] == [node.key("a"), node.key("b")]
        assert [each.status for each in await checker.check()] == ["success"]
        assert checker.counts[prefix + b"pods/", "failure"] == 1
