"""The parts of a transaction: comparisons and operations."""

from __future__ import annotations

from storage.etcd.generated import rpc_pb2

_Compare = rpc_pb2.Compare


def mod_revision_is(key: bytes, revision: int) -> rpc_pb2.Compare:
    """A comparison: `key` was last changed at `revision`; 0 means that it is absent."""
    return _Compare(result=_Compare.EQUAL, target=_Compare.MOD, key=key, mod_revision=revision)


def is_there(key: bytes) -> rpc_pb2.Compare:
    """A comparison: `key` is present."""
    return _Compare(result=_Compare.GREATER, target=_Compare.CREATE, key=key, create_revision=0)


def none_between(key: bytes, range_end: bytes) -> rpc_pb2.Compare:
    """A comparison: no key is in [key, range_end)."""
    return _Compare(result=_Compare.EQUAL, target=_Compare.CREATE, key=key, range_end=range_end, create_revision=0)


def create_revision_is(key: bytes, revision: int) -> rpc_pb2.Compare:
    """A comparison: `key` was created at `revision`; 0 means that it is absent."""
    return _Compare(result=_Compare.EQUAL, target=_Compare.CREATE, key=key, create_revision=revision)


def version_is(key: bytes, version: int) -> rpc_pb2.Compare:
    """A comparison: `key` was set `version` times since its creation; 0 means that it is absent."""
    return _Compare(result=_Compare.EQUAL, target=_Compare.VERSION, key=key, version=version)


def value_is(key: bytes, value: bytes) -> rpc_pb2.Compare:
    """A comparison: `key` is present and holds `value`."""
    return _Compare(result=_Compare.EQUAL, target=_Compare.VALUE, key=key, value=value)


def put(key: bytes, value: bytes, *, lease: int = 0, prev_kv: bool = False) -> rpc_pb2.RequestOp:
    """Set `key`."""
    return rpc_pb2.RequestOp(request_put=rpc_pb2.PutRequest(key=key, value=value, lease=lease, prev_kv=prev_kv))


def delete(key: bytes, range_end: bytes = b"", *, prev_kv: bool = False) -> rpc_pb2.RequestOp:
    """Remove `key`, or the keys in [key, range_end)."""
    request = rpc_pb2.DeleteRangeRequest(key=key, range_end=range_end, prev_kv=prev_kv)
    return rpc_pb2.RequestOp(request_delete_range=request)


def read(key: bytes, range_end: bytes = b"", *, limit: int = 0) -> rpc_pb2.RequestOp:
    """Read `key`, or the keys in [key, range_end)."""
    return rpc_pb2.RequestOp(request_range=rpc_pb2.RangeRequest(key=key, range_end=range_end, limit=limit))
