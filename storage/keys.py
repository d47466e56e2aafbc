"""Keys of etcd, in byte order."""

from __future__ import annotations


def prefix_end(prefix: bytes) -> bytes:
    """The end of the range of all keys that begin with `prefix`; b"\\0" (no end) where there is no key after them."""
    stripped = prefix.rstrip(b"\xff")
    return stripped[:-1] + bytes((stripped[-1] + 1,)) if stripped else b"\0"


def name_of(key: bytes) -> str:
    """The name of the object that has a key."""
    return key.rpartition(b"/")[2].decode()


def namespace_and_name(key: bytes, prefix: bytes) -> tuple[str, str]:
    """What a key below its resource's prefix says of the object; "" for the namespace of a cluster-scoped one."""
    namespace, _, name = key[len(prefix) :].decode().rpartition("/")
    return namespace, name
