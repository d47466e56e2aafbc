"""What the etcd of the tests can do, by its version."""

from __future__ import annotations

from storage.embedded import EmbeddedEtcdError, binary_version, find_binary


def older_than(version: tuple[int, int, int]) -> bool:
    """Whether the etcd that tests start is older; one in a container is not."""
    try:
        return binary_version(find_binary()) < version
    except EmbeddedEtcdError:
        return False
