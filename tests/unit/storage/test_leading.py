"""A transaction of the leader is made while the lease is held, and told apart from one whose own comparison fails."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from storage.errors import Fenced
from storage.etcd.results import KeyValue, RangeResult
from storage.fence import Fence
from storage.leading import Leading


class Answers:
    """An etcd whose transactions end as given: made, or refused with the lease as it is."""

    def __init__(self, *ends: tuple[bool, KeyValue | None]) -> None:
        self._ends, self.compared = list(ends), list[int]()

    async def txn(self, compare: list[Any], success: list[Any], failure: list[Any]) -> Any:
        self.compared.append(compare[0].mod_revision)
        succeeded, lease = self._ends.pop(0)
        found = RangeResult(kvs=[lease] if lease else [], count=1, more=False, revision=9)
        return SimpleNamespace(succeeded=succeeded, results=[found])


def lease(revision: int, holder: bytes = b"me") -> KeyValue:
    return KeyValue(b"lease", holder, create_revision=1, mod_revision=revision, version=1)


def leading(*ends: tuple[bool, KeyValue | None]) -> tuple[Leading, Answers]:
    fence, etcd = Fence(b"lease", lambda value: value == b"me"), Answers(*ends)
    fence.revision = 5
    client: Any = etcd
    return Leading(client, fence), etcd


async def test_it_is_made_while_the_lease_is_held() -> None:
    leader, etcd = leading((True, None))
    assert (await leader.txn([], [])).succeeded and etcd.compared == [5]


async def test_another_comparison_that_fails_is_answered() -> None:
    leader, etcd = leading((False, lease(5)))
    assert not (await leader.txn([], [])).succeeded and etcd.compared == [5]


async def test_a_transaction_is_sent_with_the_renewed_lease() -> None:
    leader, etcd = leading((False, lease(7)), (True, None))
    assert (await leader.txn([], [])).succeeded and etcd.compared == [5, 7]


@pytest.mark.parametrize("found", [None, lease(7, b"somebody else")])
async def test_without_the_lease_it_is_fenced(found: KeyValue | None) -> None:
    leader, _ = leading((False, found))
    with pytest.raises(Fenced):
        await leader.txn([], [])
    assert leader.fence.revision == 0
