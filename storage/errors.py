"""What can go wrong in storage, as types that carry what a caller needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class StoredObject:
    """A value as etcd holds it (JSON without resourceVersion) with its mod revision."""

    key: bytes
    value: bytes
    revision: int


class StorageError(Exception):
    """Base of everything that storage raises."""


class Unavailable(StorageError):
    """No etcd endpoint answered in time, or etcd has no leader. The outcome of a write is unknown."""


class DeadlineExceeded(Unavailable):
    """etcd did not answer before the call's deadline. The outcome of a write is unknown."""


class Compacted(StorageError):
    """The asked revision is older than etcd's last compaction."""

    def __init__(self, compact_revision: int = 0, revision: int = 0) -> None:
        super().__init__(f"revision has been compacted (compact revision {compact_revision})")
        self.compact_revision, self.revision = compact_revision, revision


class FutureRevision(StorageError):
    """The asked revision is newer than etcd's current one."""

    def __init__(self, current: int = 0) -> None:
        super().__init__("required revision is a future revision")
        self.current = current


class NoSpace(StorageError):
    """etcd's database exceeded its quota: it takes nothing but deletions until somebody has made room."""

    REMEDY: ClassVar = (
        "compact and defragment etcd, or raise its --quota-backend-bytes, "
        "then clear the alarm with `etcdctl alarm disarm`"
    )


class TooLarge(StorageError):
    """The request is larger than etcd takes."""


class PermissionDenied(StorageError):
    """etcd's own authorization refused the call."""


class Unauthenticated(StorageError):
    """etcd refused the credentials."""


class KeyExists(StorageError):
    """A create found the key present; `current` is what is there."""

    def __init__(self, current: StoredObject) -> None:
        super().__init__("key exists")
        self.current = current


class Conflict(StorageError):
    """A compare-and-swap lost: `current` is what is there now, None if the key is gone."""

    def __init__(self, current: StoredObject | None) -> None:
        super().__init__("revision mismatch")
        self.current = current
