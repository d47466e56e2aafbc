"""The features of the tests' etcd, by its version."""

from __future__ import annotations

from storage.embedded import EmbeddedEtcdError, binary_version, find_binary


def older_than(version: tuple[int, int, int]) -> bool:
    """Whether the etcd that tests start is older than a version. False for an etcd in a container."""
    try:
        return binary_version(find_binary()) < version
    except EmbeddedEtcdError:
        return False
