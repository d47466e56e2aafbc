"""An asyncio client of etcd's v3 API. Its errors are those of storage/errors.py."""

import os

# gRPC's handlers around fork() kill the child, or close the parent's connections, while an asyncio client is at work;
# uvloop starts every subprocess with a fork. gRPC asks for this when it is first used.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
# What fails comes as an exception; gRPC's own lines on standard error say it again, many times a second.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
# Its event engine hands each message on to another of its threads, twice; the poller that it falls back on reads where
# it waits. A call switches threads a third as often, and takes a tenth to a third less CPU.
os.environ.setdefault("GRPC_EXPERIMENTS", "-event_engine_client")

from storage.errors import LeaseNotFound
from storage.etcd.client import EtcdClient
from storage.etcd.kv import KV
from storage.etcd.lease import Leases
from storage.etcd.results import (
    DELETE,
    PUT,
    DeleteResult,
    Event,
    Head,
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
from storage.keys import prefix_end
from storage.versions import progress_notifications_correct

__all__ = [
    "DELETE",
    "KV",
    "PUT",
    "DeleteResult",
    "EtcdClient",
    "EtcdSettings",
    "Event",
    "Head",
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
