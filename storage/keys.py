"""Keys of etcd, in byte order."""

from __future__ import annotations


def prefix_end(prefix: bytes) -> bytes:
    """The range_end of etcd for all keys that begin with `prefix`; b"\\0" (no end) where no key can come after them."""
    stripped = prefix.rstrip(b"\xff")
    return stripped[:-1] + bytes((stripped[-1] + 1,)) if stripped else b"\0"


def name_of(key: bytes) -> str:
    """The name of the object under a key."""
    return key.rpartition(b"/")[2].decode()


def namespace_and_name(key: bytes, prefix: bytes) -> tuple[str, str]:
    """The namespace ("" if cluster-scoped) and the name of the object under a key that begins with `prefix`."""
    namespace, _, name = key[len(prefix) :].decode().rpartition("/")
    return namespace, name
