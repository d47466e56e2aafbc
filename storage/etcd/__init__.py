"""An asyncio client of etcd's v3 API. Its errors are those of storage/errors.py."""

from storage.etcd.client import EtcdClient
from storage.etcd.errors import LeaseNotFound
from storage.etcd.kv import KV, prefix_end
from storage.etcd.lease import Leases
from storage.etcd.results import (
    DELETE,
    PUT,
    DeleteResult,
    Event,
    KeyValue,
    LeaseGrant,
    MemberStatus,
    PutResult,
    RangeResult,
    SwapResult,
    TxnResult,
    WatchBatch,
)
from storage.etcd.settings import EtcdSettings
from storage.etcd.watch import Watch
from storage.versions import progress_notifications_correct

__all__ = [
    "DELETE",
    "KV",
    "PUT",
    "DeleteResult",
    "EtcdClient",
    "EtcdSettings",
    "Event",
    "KeyValue",
    "LeaseGrant",
    "LeaseNotFound",
    "Leases",
    "MemberStatus",
    "PutResult",
    "RangeResult",
    "SwapResult",
    "TxnResult",
    "Watch",
    "WatchBatch",
    "prefix_end",
    "progress_notifications_correct",
]
