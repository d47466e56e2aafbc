"""The types of etcd's answers. Every answer has etcd's revision at the time of the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

PUT: Final = 0
DELETE: Final = 1


class KeyValue(NamedTuple):
    """A key's value and history. A named tuple, because a list makes thousands of them."""

    key: bytes
    value: bytes
    mod_revision: int
    create_revision: int
    version: int


class Event(NamedTuple):
    """A change: `type` is PUT or DELETE. Of a deletion, `kv` has only key and mod_revision.

    `prev_kv` is what the key held before, if the watch asks for it and it was present and is not compacted.
    """

    type: int
    kv: KeyValue
    prev_kv: KeyValue | None


class WatchBatch(NamedTuple):
    """The changes of one or more whole revisions, in order; or none, when etcd tells how far the watch has come.

    `revision` is the one up to which, included, the watch has now seen everything. A batch of changes says so of the
    last one's revision.
    """

    revision: int
    events: list[Event]
    progress: bool


@dataclass(frozen=True, slots=True)
class RangeResult:
    """`count` is the number of keys in the whole range, `more` whether the limit cut some off."""

    kvs: list[KeyValue]
    revision: int
    count: int
    more: bool


@dataclass(frozen=True, slots=True)
class PutResult:
    revision: int
    prev_kv: KeyValue | None


@dataclass(frozen=True, slots=True)
class DeleteResult:
    revision: int
    deleted: int
    prev_kvs: list[KeyValue]


@dataclass(frozen=True, slots=True)
class TxnResult:
    """`results` holds one result for each operation of the branch that ran."""

    succeeded: bool
    revision: int
    results: list[RangeResult | PutResult | DeleteResult]


class SwapResult(NamedTuple):
    """A compare-and-swap's outcome. When it lost, `current` is what is there, None if the key is absent.

    `revision` is that of the write when it succeeded, else the store's. `guard` is then the key that guards it, if any.
    """

    succeeded: bool
    revision: int
    current: KeyValue | None
    guard: KeyValue | None = None
    beside: Sequence[KeyValue | None] = ()  # what was to be written with it, as it is


@dataclass(frozen=True, slots=True)
class Head:
    """Where a cluster is: its id, its raft term, the revision of its store; how many of some keys there are."""

    cluster: int
    term: int
    revision: int
    count: int = 0


@dataclass(frozen=True, slots=True)
class LeaseGrant:
    id: int
    ttl: int


@dataclass(frozen=True, slots=True)
class MemberStatus:
    """What one etcd member says of itself; `leader` is 0 while there is none."""

    version: str
    revision: int
    member_id: int
    leader: int
    db_size: int
    db_size_in_use: int
    raft_term: int
    raft_index: int
    is_learner: bool
    errors: tuple[str, ...]
    db_quota: int = 0  # bytes that the database may have; 0 from members that do not tell
