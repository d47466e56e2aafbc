"""Turns gRPC's errors into those of storage/errors.py, and says which calls may be repeated.

Only the text of the gRPC status tells etcd's errors apart; the texts are those of its rpctypes package.
"""

from __future__ import annotations

import grpc
from grpc.aio import AioRpcError

from storage.errors import (
    Compacted,
    DeadlineExceeded,
    FutureRevision,
    LeaseNotFound,
    NoSpace,
    OtherCluster,
    PermissionDenied,
    StorageError,
    TooLarge,
    Unauthenticated,
    Unavailable,
)
from storage.etcd.http2.connection import NOT_BEGUN

# an error of raft, with the code Unknown: there is no leader, or it hands over; nothing was proposed
_DROPPED = "raft proposal dropped"

_BY_DETAILS: dict[str, type[StorageError]] = {
    "etcdserver: mvcc: required revision has been compacted": Compacted,
    "etcdserver: mvcc: required revision is a future revision": FutureRevision,
    "etcdserver: requested lease not found": LeaseNotFound,
    "etcdserver: mvcc: database space exceeded": NoSpace,
    "etcdserver: request is too large": TooLarge,
    "etcdserver: too many operations in txn request": TooLarge,
    "etcdserver: too many requests": Unavailable,
    "etcdserver: not leader": Unavailable,
    _DROPPED: Unavailable,
    "raft: stopped": Unavailable,  # a member stops; its code is Unknown too. The write may have been proposed
    "etcdserver: rpc not supported for learner": Unavailable,
    "etcdserver: authentication failed, invalid user ID or password": Unauthenticated,
    "etcdserver: user name is empty": Unauthenticated,
    "etcdserver: revision of auth store is old": Unauthenticated,
}

_BY_CODE: dict[grpc.StatusCode, type[StorageError]] = {
    grpc.StatusCode.UNAVAILABLE: Unavailable,
    grpc.StatusCode.CANCELLED: Unavailable,
    grpc.StatusCode.INTERNAL: Unavailable,  # from gRPC, when a connection ends during a call; clientv3 retries it too
    grpc.StatusCode.DEADLINE_EXCEEDED: DeadlineExceeded,
    grpc.StatusCode.RESOURCE_EXHAUSTED: TooLarge,
    grpc.StatusCode.PERMISSION_DENIED: PermissionDenied,
    grpc.StatusCode.UNAUTHENTICATED: Unauthenticated,
}

_TRANSIENT = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.INTERNAL)

# the text for a call whose connection or deadline ended; some releases of gRPC give it the code Unknown
_STREAM_REMOVED = "Stream removed"
_LATE = "Deadline Exceeded"

_STALE_TOKEN = ("etcdserver: invalid auth token", "etcdserver: revision of auth store is old")

_REFUSED = (
    "etcdserver: too many requests",
    "etcdserver: no leader",
    "etcdserver: rpc not supported for learner",
    _DROPPED,
)

# The last one is for calls that went to another cluster: the served cluster has not seen them.
_NOT_SENT = (
    "failed to connect to all addresses",
    "DNS resolution failed",
    "connections to all backends failing",
    NOT_BEGUN,
    OtherCluster.BEGINNING,
)


def translate(error: AioRpcError, revision: int = 0) -> StorageError:
    """The StorageError of a failed call; `revision` is the requested one, for Compacted."""
    details = error.details() or ""
    if details.startswith(OtherCluster.BEGINNING):
        return OtherCluster(details)
    kind = _BY_DETAILS.get(details) or _BY_CODE.get(error.code()) or _by_removal(details)
    if kind is Compacted:
        return Compacted(0, revision)
    if kind is FutureRevision:
        return FutureRevision()
    return (kind or StorageError)(details or error.code().name)


def is_token_stale(error: AioRpcError) -> bool:
    """Whether etcd refused the call, without executing it, because the token expired or the users changed."""
    return error.details() in _STALE_TOKEN


def is_certainly_not_executed(error: AioRpcError) -> bool:
    """Whether even a write may be sent again: the call was never sent, or etcd refused it before proposing it."""
    details = error.details() or ""
    return details in _REFUSED or (error.code() is grpc.StatusCode.UNAVAILABLE and details.startswith(_NOT_SENT))


def may_be_executed(error: AioRpcError) -> bool:
    """Whether etcd may have executed a write that was sent, or may execute it later."""
    return isinstance(translate(error), Unavailable) and not is_certainly_not_executed(error)


def is_transient(error: AioRpcError) -> bool:
    """Whether the same call may succeed later, or on another endpoint."""
    details = error.details() or ""
    by_details = _BY_DETAILS.get(details, StorageError)
    return error.code() in _TRANSIENT or issubclass(by_details, Unavailable) or _by_removal(details) is not None


def _by_removal(details: str) -> type[StorageError] | None:
    """The error type for a text such as "Stream removed (Socket closed)"; None for other texts."""
    if not details.startswith(_STREAM_REMOVED):
        return None
    return DeadlineExceeded if _LATE in details else Unavailable
