"""After a write without an answer, etcd's history tells whether the write was certainly not made."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from storage.errors import Compacted
from storage.etcd.doubtful import was_never_made
from storage.etcd.generated import kv_pb2, rpc_pb2
from storage.etcd.swap_request import SwapRequest

KEY, FENCE, OURS, THEIRS = b"k", b"fence", b"ours", b"theirs"
BEFORE = 10  # the revision that the write compares
History = Sequence[tuple[int, bytes]]  # revisions of the key, with its value; b"" is a deletion


def state(history: History, revision: int) -> list[kv_pb2.KeyValue]:
    found = [each for each in ((BEFORE, b"before"), *history) if each[0] <= revision]
    at, value = found[-1]
    return [kv_pb2.KeyValue(key=KEY, value=value, mod_revision=at)] if value else []


def request(deletes: bool = False, fence: int = 0) -> rpc_pb2.TxnRequest:
    made = rpc_pb2.TxnRequest()
    made.compare.add(target=rpc_pb2.Compare.MOD, key=KEY, mod_revision=BEFORE)
    if fence:
        made.compare.add(target=rpc_pb2.Compare.MOD, key=FENCE, mod_revision=fence)
    operation = made.success.add()
    if deletes:
        operation.request_delete_range.key = KEY
    else:
        operation.request_put.key, operation.request_put.value = KEY, OURS
    return made


def refused(history: History, now: int, fence: int | None = None) -> rpc_pb2.TxnResponse:
    answer = rpc_pb2.TxnResponse()
    answer.header.revision = now
    answer.responses.add().response_range.kvs.extend(state(history, now))
    if fence is not None:
        found = answer.responses.add().response_range
        found.kvs.extend([kv_pb2.KeyValue(key=FENCE, mod_revision=fence)] if fence else [])
    return answer


async def judged(history: History, *, deletes: bool = False, now: int = 1000) -> bool:
    async def read(asked: rpc_pb2.RangeRequest) -> rpc_pb2.RangeResponse:
        assert asked.key == KEY and asked.revision
        return rpc_pb2.RangeResponse(kvs=state(history, asked.revision))

    answers = [await was_never_made(request(deletes), refused(history, now), read)]
    if not deletes:  # a usual write is made as bytes
        answers.append(await was_never_made(SwapRequest(KEY, OURS, BEFORE, 0), refused(history, now), read))
    assert answers[0] is answers[-1]
    return answers[0]


@pytest.mark.parametrize(
    "history",
    [
        [(11, THEIRS)],
        [(900, THEIRS)],
        [(20, THEIRS), (30, OURS)],
        [(20, THEIRS), (30, b""), (31, b"third"), (900, b"fourth")],
        [(20, b"")],
        [(20, b""), (21, OURS)],
        [(20, THEIRS), (700, b"")],
    ],
)
async def test_an_update_was_not_made_if_another_write_came_first(history: History) -> None:
    assert await judged(history)


@pytest.mark.parametrize("history", [[(11, OURS)], [(20, OURS), (30, THEIRS)], [(20, OURS), (700, b"")]])
async def test_an_update_whose_value_came_first_may_have_been_made(history: History) -> None:
    assert not await judged(history)


@pytest.mark.parametrize(
    ("history", "never"), [([(20, b"")], False), ([(20, b""), (25, THEIRS)], False), ([(20, THEIRS), (30, b"")], True)]
)
async def test_a_deletion_was_not_made_if_an_update_came_first(history: History, never: bool) -> None:
    assert await judged(history, deletes=True) is never


async def test_what_etcd_has_compacted_tells_nothing() -> None:
    async def read(asked: rpc_pb2.RangeRequest) -> rpc_pb2.RangeResponse:
        raise Compacted(50, asked.revision)

    assert not await was_never_made(request(), refused([(900, THEIRS)], 1000), read)


@pytest.mark.parametrize(("fence", "never"), [(7, False), (8, True), (0, True)])
async def test_an_untouched_key_stays_so_once_a_compared_key_has_moved(fence: int, never: bool) -> None:
    async def read(asked: rpc_pb2.RangeRequest) -> rpc_pb2.RangeResponse:
        raise AssertionError("no history is needed")

    assert await was_never_made(request(fence=7), refused([], 1000, fence), read) is never
