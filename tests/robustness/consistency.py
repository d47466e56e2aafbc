"""What every test of faults ends with: the cache is what etcd is."""

from __future__ import annotations

import asyncio

from storage.checking import Checker
from tests.integration.reads.node import PATIENCE, Node


async def assert_consistent(node: Node) -> None:
    """Compares all of the cache with etcd, as of one revision, as soon as etcd tells."""
    checker = Checker(node.client, node.cache, lambda: None)
    async with asyncio.timeout(PATIENCE):
        while (found := [finding.status for finding in await checker.check()]) == ["error"]:
            await asyncio.sleep(0.05)
    assert found == ["success"]
