"""Transactions that are made only while this process holds a key, such as the lease of the leader."""

from __future__ import annotations

from collections.abc import Iterable

from storage.etcd import EtcdClient
from storage.etcd.generated import rpc_pb2
from storage.etcd.operations import mod_revision_is, read
from storage.etcd.results import RangeResult, TxnResult
from storage.fence import Fence


class Leading:
    """Transactions of a client that are made only while a fence is held. Its key is in the same etcd."""

    def __init__(self, client: EtcdClient, fence: Fence) -> None:
        self.client, self.fence = client, fence

    async def txn(self, compare: Iterable[rpc_pb2.Compare], success: Iterable[rpc_pb2.RequestOp]) -> TxnResult:
        """Runs `success` if all comparisons hold; else nothing. Raises Fenced, StorageError."""
        compare, success, key = list(compare), list(success), self.fence.key
        while True:
            revision = self.fence.guard().revision
            answer = await self.client.txn([mod_revision_is(key, revision), *compare], success, [read(key)])
            if answer.succeeded:
                return answer
            found = answer.results[0]
            assert isinstance(found, RangeResult)
            held = found.kvs[0] if found.kvs else None
            if held is not None and held.mod_revision == revision:
                return answer  # what does not hold is one of the others
            self.fence.moved(held, revision)
