"""What every test of faults ends with: the cache is what etcd is."""

from __future__ import annotations

from storage.checking import Checker
from tests.integration.reads.node import Node


async def assert_consistent(node: Node) -> None:
    """Compares all of the cache with etcd, as of one revision."""
    checker = Checker(node.client, node.cache, lambda: None)
    assert [finding.status for finding in await checker.check()] == ["success"]
