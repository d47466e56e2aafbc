"""Finds out whether a write was made that etcd has not answered, once the same write was sent again and refused.

Such a write compares a key's mod revision, which a key has at most once. When the key has another one, the write will
not be made anymore. It was made only if the first change after the compared revision is its own. etcd's history has
that change until it is compacted.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from storage.errors import StorageError
from storage.etcd.generated import kv_pb2, rpc_pb2
from storage.etcd.swap_request import TransactionMessage

Range = Callable[[rpc_pb2.RangeRequest], Awaitable[rpc_pb2.RangeResponse]]


async def was_never_made(sent: TransactionMessage, refused: rpc_pb2.TxnResponse, read: Range) -> bool:
    """Whether the write that was `sent` was certainly not made, and will not be. False if that is unknown. The first
    comparison, operation and read of `sent` have to be those of the write's key. `refused` is the answer to the
    repeated write.
    """
    request = rpc_pb2.TxnRequest.FromString(sent.SerializeToString())  # a SwapRequest has no fields
    key, expected = request.compare[0].key, request.compare[0].mod_revision
    current = _only(refused.responses[0].response_range)
    if current is not None and current.mod_revision == expected:
        return _can_never_hold(request, refused)
    try:
        first = await _first_change(key, expected, current, refused.header.revision, read)
    except StorageError:
        return False
    operation = request.success[0]
    if not operation.HasField("request_put"):
        return first is not None
    return first is None or first.value != operation.request_put.value


def _can_never_hold(request: rpc_pb2.TxnRequest, refused: rpc_pb2.TxnResponse) -> bool:
    """Whether another key has left a mod revision that the write compares: a key has each of them at most once."""
    others = zip(request.compare[1:], refused.responses[1:], strict=True)
    return any(
        compared.target == rpc_pb2.Compare.MOD
        and compared.mod_revision > 0
        and (found is None or found.mod_revision != compared.mod_revision)
        for compared, answer in others
        for found in (_only(answer.response_range),)
    )


async def _first_change(
    key: bytes, expected: int, current: kv_pb2.KeyValue | None, now: int, read: Range
) -> kv_pb2.KeyValue | None:
    """The key after its first change since the revision `expected`; None if that change was its deletion.

    Raises StorageError, also if etcd has compacted the history.
    """
    before, after, found = expected, now if current is None else current.mod_revision, current
    middle = after - 1  # mostly there was one change
    while after - before > 1:
        seen = _only(await read(rpc_pb2.RangeRequest(key=key, revision=middle)))
        if seen is not None and seen.mod_revision == expected:
            before = middle
        else:
            found, after = seen, middle if seen is None else seen.mod_revision
        middle = (before + after) // 2
    return found


def _only(answer: rpc_pb2.RangeResponse) -> kv_pb2.KeyValue | None:
    return answer.kvs[0] if answer.kvs else None
