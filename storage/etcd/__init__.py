"""An asyncio client of etcd's v3 API. Its errors are those of storage/errors.py."""

import os

# gRPC's handlers around fork() kill the child, or close the parent's connections, while an asyncio client is in use.
# uvloop starts every subprocess with a fork. gRPC reads these variables when it is first used.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
# Errors come as exceptions; gRPC would also print them on standard error, many times a second.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
# gRPC's event engine passes each message to another thread, twice. Without it, gRPC's poller reads in the thread that
# waits: a call then makes a third of the thread switches, and takes a tenth to a third less CPU.
os.environ.setdefault("GRPC_EXPERIMENTS", "-event_engine_client")

from storage.errors import LeaseNotFound
from storage.etcd.client import EtcdClient
from storage.etcd.kv import KV
from storage.etcd.lease import Leases
from storage.etcd.results import (
    DELETE,
    PUT,
    ClusterState,
    DeleteResult,
    KeyEvent,
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
    "ClusterState",
    "DeleteResult",
    "EtcdClient",
    "EtcdSettings",
    "KeyEvent",
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
