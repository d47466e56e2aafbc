"""The types of etcd's answers. Each answer has etcd's revision at the time of the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

PUT: Final = 0
DELETE: Final = 1


class KeyValue(NamedTuple):
    """A key, its value, revisions and version. It is a named tuple, because a list makes thousands of them."""

    key: bytes
    value: bytes
    mod_revision: int
    create_revision: int
    version: int


class KeyEvent(NamedTuple):
    """A change: `type` is PUT or DELETE. For a deletion, `kv` has only key and mod_revision.

    `prev_kv` is the key's version before, if the watch requested it, the key existed, and etcd has not compacted it.
    """

    type: int
    kv: KeyValue
    prev_kv: KeyValue | None


class WatchBatch(NamedTuple):
    """All changes of one or more revisions, in order; or none, for a progress notification.

    The watch has now brought all changes up to and including `revision`. In a batch of changes that is the revision of
    the last one.
    """

    revision: int
    events: list[KeyEvent]
    progress: bool


@dataclass(frozen=True, slots=True)
class RangeResult:
    """`count` is the number of keys in the whole range; `more` says whether the limit left some out."""

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
    """The outcome of a compare-and-swap. If it failed, `current` is the present version; None if the key is absent.

    `revision` is that of the write; after a failure that of the store, and `guard` is the present version of the guard,
    `also` that of its second key.
    """

    succeeded: bool
    revision: int
    current: KeyValue | None
    guard: KeyValue | None = None
    beside: Sequence[KeyValue | None] = ()  # after a failure, the present versions of the keys beside it
    also: KeyValue | None = None


@dataclass(frozen=True, slots=True)
class ClusterState:
    """The state of a cluster: its ID, its raft term, its revision, and the number of keys in the requested range."""

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
    """The status of one etcd member; `leader` is 0 while there is none."""

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
    db_quota: int = 0  # the maximal size of the database in bytes; 0 from versions that do not report it
