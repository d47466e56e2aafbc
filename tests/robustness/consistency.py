"""The last check of every test with faults: the watch cache is equal to etcd."""

from __future__ import annotations

import asyncio

from storage.cache_check import Checker
from tests.integration.reads.node import PATIENCE, Node


async def assert_consistent(node: Node) -> None:
    """Compares the whole cache with etcd at one revision, as soon as etcd answers."""
    checker = Checker(node.client, node.cache, lambda: None)
    async with asyncio.timeout(PATIENCE):
        while (found := [finding.status for finding in await checker.check()]) == ["error"]:
            await asyncio.sleep(0.05)
    assert found == ["success"]
