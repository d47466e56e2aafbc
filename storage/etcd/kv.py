"""etcd's KV service: ranges, writes and transactions."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from operator import attrgetter

from storage.etcd.endpoints import Endpoints, Method
from storage.etcd.generated import kv_pb2, rpc_pb2
from storage.etcd.range_stream import range_stream
from storage.etcd.results import ClusterState, DeleteResult, KeyValue, PutResult, RangeResult, SwapResult, TxnResult
from storage.etcd.swap_request import MOST_KEY, SwapRequest, TransactionMessage
from storage.keys import prefix_end

_EQUAL, _MOD, _VALUE = rpc_pb2.Compare.EQUAL, rpc_pb2.Compare.MOD, rpc_pb2.Compare.VALUE

_RANGE: Method[rpc_pb2.RangeRequest, rpc_pb2.RangeResponse] = attrgetter("kv.Range")
_PUT: Method[rpc_pb2.PutRequest, rpc_pb2.PutResponse] = attrgetter("kv.Put")
_DELETE: Method[rpc_pb2.DeleteRangeRequest, rpc_pb2.DeleteRangeResponse] = attrgetter("kv.DeleteRange")
_TXN: Method[rpc_pb2.TxnRequest, rpc_pb2.TxnResponse] = attrgetter("kv.Txn")
_SWAP: Method[TransactionMessage, rpc_pb2.TxnResponse] = attrgetter("kv.Txn")
_COMPACT: Method[rpc_pb2.CompactionRequest, rpc_pb2.CompactionResponse] = attrgetter("kv.Compact")


@dataclass(frozen=True, slots=True)
class Guard:
    """A condition of a write: the key must have this mod revision. If there is `also`, it must hold, too."""

    key: bytes
    revision: int
    also: Guard | None = None


@dataclass(frozen=True, slots=True)
class Beside:
    """A second key that the transaction of a write sets too.

    The transaction requires its mod revision to be `revision`; for None, its present value to be `value`.
    """

    key: bytes
    value: bytes
    revision: int | None


class KV:
    """The KV service. Reads are linearizable unless `serializable` is set; a `timeout` of None is that of the settings.

    Every method may raise what Endpoints.call raises.
    """

    def __init__(self, endpoints: Endpoints) -> None:
        self._call, self._endpoints = endpoints.call, endpoints
        self._probes: dict[bytes, rpc_pb2.RangeRequest] = {}

    async def range(
        self,
        key: bytes,
        range_end: bytes = b"",
        *,
        revision: int = 0,
        limit: int = 0,
        count_only: bool = False,
        keys_only: bool = False,
        serializable: bool = False,
        timeout: float | None = None,
    ) -> RangeResult:
        """The keys in [key, range_end) in key order, or only `key`; as of `revision`, or of now if that is 0.

        Raises Compacted, FutureRevision.
        """
        request = rpc_pb2.RangeRequest(
            key=key,
            range_end=range_end,
            revision=revision,
            limit=limit,
            count_only=count_only,
            keys_only=keys_only,
            serializable=serializable,
        )
        answer = await self._call(_RANGE, request, timeout=timeout, repeatable=True, revision=revision)
        return range_result(answer, answer.header.revision)

    async def prefix(
        self,
        prefix: bytes,
        *,
        revision: int = 0,
        limit: int = 0,
        count_only: bool = False,
        keys_only: bool = False,
        serializable: bool = False,
        timeout: float | None = None,
    ) -> RangeResult:
        """As `range`, for all keys that start with `prefix`."""
        return await self.range(
            prefix or b"\0",
            prefix_end(prefix),
            revision=revision,
            limit=limit,
            count_only=count_only,
            keys_only=keys_only,
            serializable=serializable,
            timeout=timeout,
        )

    async def stream(self, key: bytes, range_end: bytes, *, revision: int) -> AsyncGenerator[list[KeyValue]]:
        """As `range`, but the answer comes in parts. It needs etcd 3.7 and is not tried again.

        Raises StorageError if etcd is older, or in place of any part.
        """

        request = rpc_pb2.RangeRequest(key=key, range_end=range_end, revision=revision)
        async with aclosing(range_stream(self._endpoints, request)) as parts:
            async for kvs in parts:
                yield [key_value(kv) for kv in kvs]

    async def leased(
        self, key: bytes, range_end: bytes, *, revision: int = 0, limit: int = 0, timeout: float | None = None
    ) -> tuple[RangeResult, list[int]]:
        """As `range`, with the lease ID of each key, 0 for none."""
        request = rpc_pb2.RangeRequest(key=key, range_end=range_end, revision=revision, limit=limit)
        answer = await self._call(_RANGE, request, timeout=timeout, repeatable=True, revision=revision)
        return range_result(answer, answer.header.revision), [kv.lease for kv in answer.kvs]

    async def get(self, key: bytes, *, timeout: float | None = None) -> KeyValue | None:
        """The present value of `key`, None if it is absent."""
        answer = await self._call(_RANGE, rpc_pb2.RangeRequest(key=key), timeout=timeout, repeatable=True)
        return key_value(answer.kvs[0]) if answer.kvs else None

    async def revision(self, key: bytes = b"\0", *, timeout: float | None = None) -> int:
        """The store's revision, at least that of each write that was answered before this call.

        `key` is only any key that the etcd user may read; its value is not read.
        """
        answer = await self._call(_RANGE, self._probe(key), timeout=timeout, repeatable=True)
        return answer.header.revision

    async def head(self, key: bytes = b"\0", range_end: bytes = b"", *, timeout: float | None = None) -> ClusterState:
        """As `revision`, with the cluster ID, the raft term, and the number of keys in [key, range_end)."""
        probe = rpc_pb2.RangeRequest(key=key, range_end=range_end, count_only=True) if range_end else self._probe(key)
        answer = await self._call(_RANGE, probe, timeout=timeout, repeatable=True)
        return ClusterState(answer.header.cluster_id, answer.header.raft_term, answer.header.revision, answer.count)

    def _probe(self, key: bytes) -> rpc_pb2.RangeRequest:
        probe = self._probes.get(key)
        if probe is None:
            probe = self._probes[key] = rpc_pb2.RangeRequest(key=key, count_only=True)
        return probe

    async def put(
        self, key: bytes, value: bytes, *, lease: int = 0, prev_kv: bool = False, timeout: float | None = None
    ) -> PutResult:
        """Sets `key`, without a comparison."""
        request = rpc_pb2.PutRequest(key=key, value=value, lease=lease, prev_kv=prev_kv)
        answer = await self._call(_PUT, request, timeout=timeout)
        return put_result(answer, answer.header.revision)

    async def delete(
        self, key: bytes, range_end: bytes = b"", *, prev_kv: bool = False, timeout: float | None = None
    ) -> DeleteResult:
        """Remove `key`, or the keys in [key, range_end)."""
        request = rpc_pb2.DeleteRangeRequest(key=key, range_end=range_end, prev_kv=prev_kv)
        answer = await self._call(_DELETE, request, timeout=timeout)
        return delete_result(answer, answer.header.revision)

    async def txn(
        self,
        compare: Iterable[rpc_pb2.Compare],
        success: Iterable[rpc_pb2.RequestOp] = (),
        failure: Iterable[rpc_pb2.RequestOp] = (),
        *,
        timeout: float | None = None,
    ) -> TxnResult:
        """Runs `success` if all comparisons hold, else `failure`, in one revision. operations.py makes the parts.

        Raises TooLarge for more operations than etcd accepts.
        """
        request = rpc_pb2.TxnRequest(compare=compare, success=success, failure=failure)
        answer = await self._call(_TXN, request, timeout=timeout)
        revision = answer.header.revision
        return TxnResult(answer.succeeded, revision, [_result(part, revision) for part in answer.responses])

    async def write(
        self, puts: Iterable[tuple[bytes, bytes]], deletes: Iterable[bytes], *, timeout: float | None = None
    ) -> int:
        """Sets keys and removes others, without a comparison, in one revision. No key may be given twice.

        Returns the revision, 0 if nothing was set or removed. Raises TooLarge for more keys than etcd accepts.
        """
        request = rpc_pb2.TxnRequest()
        add = request.success.add
        for key, value in puts:
            put = add().request_put
            put.key, put.value = key, value
        for key in deletes:
            add().request_delete_range.key = key
        answer = await self._call(_TXN, request, timeout=timeout)
        parts = answer.responses
        changed = any(part.HasField("response_put") or part.response_delete_range.deleted for part in parts)
        return answer.header.revision if changed else 0

    def create(
        self,
        key: bytes,
        value: bytes,
        *,
        lease: int = 0,
        guard: Guard | None = None,
        beside: Sequence[Beside] = (),
        timeout: float | None = None,
    ) -> Awaitable[SwapResult]:
        """Sets `key` and the keys `beside` it, if `key` is absent and the conditions of `guard` and `beside` hold."""
        request = _setting(key, value, 0, lease, guard, beside)
        return self._swapped(request, timeout, key, 0, guard)

    def update(
        self,
        key: bytes,
        value: bytes,
        mod_revision: int,
        *,
        lease: int = 0,
        guard: Guard | None = None,
        beside: Sequence[Beside] = (),
        timeout: float | None = None,
    ) -> Awaitable[SwapResult]:
        """Sets `key` and the keys `beside` it, if `key` has this mod revision and the other conditions hold."""
        request = _setting(key, value, mod_revision, lease, guard, beside)
        return self._swapped(request, timeout, key, mod_revision, guard)

    def delete_if(
        self, key: bytes, mod_revision: int, *, guard: Guard | None = None, timeout: float | None = None
    ) -> Awaitable[SwapResult]:
        """Removes `key`, if it has this mod revision and the condition of `guard` holds."""
        request = _swap(key, mod_revision, guard)
        request.success.add().request_delete_range.key = key
        return self._swapped(request, timeout, key, mod_revision, guard)

    async def compact(self, revision: int, *, physical: bool = False, timeout: float | None = None) -> None:
        """Compacts the revisions before `revision`; `physical` waits until that is done on disk.

        Raises Compacted if etcd was already compacted to this revision, FutureRevision.
        """
        request = rpc_pb2.CompactionRequest(revision=revision, physical=physical)
        await self._call(_COMPACT, request, timeout=timeout, revision=revision)

    async def _swapped(
        self, request: TransactionMessage, timeout: float | None, key: bytes, mod_revision: int, guard: Guard | None
    ) -> SwapResult:
        # A key has a mod revision at most once, but it may be absent several times.
        answer = await self._call(_SWAP, request, timeout=timeout, swaps=key, once=mod_revision > 0)
        revision = answer.header.revision
        if answer.succeeded:
            return SwapResult(True, revision, None)
        found = [part.response_range.kvs for part in answer.responses]
        current, *others = (key_value(kvs[0]) if kvs else None for kvs in found)
        if guard is None:
            return SwapResult(False, revision, current, None, others)
        if guard.also is None:
            return SwapResult(False, revision, current, others[0], others[1:])
        return SwapResult(False, revision, current, others[0], others[2:], others[1])


def _swap(key: bytes, mod_revision: int, guard: Guard | None) -> rpc_pb2.TxnRequest:
    """A transaction without an operation yet. Its parts are added in place: protobuf would copy finished ones."""
    request = rpc_pb2.TxnRequest()
    request.compare.add(result=_EQUAL, target=_MOD, key=key, mod_revision=mod_revision)
    request.failure.add().request_range.key = key
    for each in () if guard is None else (guard,) if guard.also is None else (guard, guard.also):
        request.compare.add(result=_EQUAL, target=_MOD, key=each.key, mod_revision=each.revision)
        request.failure.add().request_range.key = each.key
    return request


def _setting(
    key: bytes, value: bytes, mod_revision: int, lease: int, guard: Guard | None, beside: Sequence[Beside]
) -> TransactionMessage:
    """A transaction that sets `key` and the keys beside it. Without anything else it is bytes."""
    if guard is None and not beside and value and 0 < len(key) <= MOST_KEY:
        return SwapRequest(key, value, mod_revision, lease)
    request = _swap(key, mod_revision, guard)
    _put_value(request, key, value, lease)
    _add(beside, request)
    return request


def _add(beside: Sequence[Beside], request: rpc_pb2.TxnRequest) -> None:
    for other in beside:
        if other.revision is None:
            request.compare.add(result=_EQUAL, target=_VALUE, key=other.key, value=other.value)
        else:
            request.compare.add(result=_EQUAL, target=_MOD, key=other.key, mod_revision=other.revision)
        request.failure.add().request_range.key = other.key
        _put_value(request, other.key, other.value, 0)


def _put_value(request: rpc_pb2.TxnRequest, key: bytes, value: bytes, lease: int) -> None:
    put = request.success.add().request_put
    put.key, put.value, put.lease = key, value, lease


def key_value(kv: kv_pb2.KeyValue) -> KeyValue:
    return KeyValue(kv.key, kv.value, kv.mod_revision, kv.create_revision, kv.version)


def range_result(answer: rpc_pb2.RangeResponse, revision: int) -> RangeResult:
    return RangeResult([key_value(kv) for kv in answer.kvs], revision, answer.count, answer.more)


def put_result(answer: rpc_pb2.PutResponse, revision: int) -> PutResult:
    return PutResult(revision, key_value(answer.prev_kv) if answer.HasField("prev_kv") else None)


def delete_result(answer: rpc_pb2.DeleteRangeResponse, revision: int) -> DeleteResult:
    return DeleteResult(revision, answer.deleted, [key_value(kv) for kv in answer.prev_kvs])


def _result(part: rpc_pb2.ResponseOp, revision: int) -> RangeResult | PutResult | DeleteResult:
    kind = part.WhichOneof("response")
    if kind == "response_range":
        return range_result(part.response_range, revision)
    if kind == "response_put":
        return put_result(part.response_put, revision)
    return delete_result(part.response_delete_range, revision)
