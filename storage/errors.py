"""What can go wrong in storage, as types that carry what a caller needs."""

from __future__ import annotations

from typing import ClassVar, NamedTuple


class StorageError(Exception):
    """Base of everything that storage raises."""


class CorruptObject(StorageError):
    """What is stored under a key can't be read; `reason` says why. It is never shown, nor written back."""

    def __init__(self, key: bytes, revision: int, reason: str) -> None:
        super().__init__(f"object not decodable revision={revision}: {reason}")
        self.key, self.revision, self.reason = key, revision, reason


class AwaitedObject(CorruptObject):
    """What is stored under a key can't be read at present: the service that it takes does not answer."""


class StoredObject(NamedTuple):
    """A key's value with its mod revision; `raw` is canonical, or what etcd holds where that is `corrupt`."""

    key: bytes
    raw: bytes
    revision: int
    corrupt: str = ""  # why the value can't be read
    anew: bool = False  # whether etcd has it otherwise, in a form that is to be written anew with the next write

    @property
    def value(self) -> bytes:
        """The canonical value: JSON without a resourceVersion. Raises CorruptObject."""
        if self.corrupt:
            raise CorruptObject(self.key, self.revision, self.corrupt)
        return self.raw


class Unavailable(StorageError):
    """No etcd endpoint answered in time, or etcd has no leader. A write was not made, unless it is `Unanswered`."""


class NotLoaded(Unavailable):
    """The cache does not have the objects of a resource yet: the process starts."""


class DeadlineExceeded(Unavailable):
    """etcd did not answer a question before the call's deadline."""


class OtherCluster(Unavailable):
    """Endpoints are of different clusters, or of another one than that which is served. They are not used."""

    BEGINNING: ClassVar = "etcd's endpoints are not of one cluster"
    REMEDY: ClassVar = (
        "name the endpoints of one cluster only (--etcd-servers); "
        "where all was restored from a backup, start all of its members"
    )


class Unanswered(Unavailable):
    """etcd took a write and did not say what became of it: it was made, or will be, or never."""


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


class LeaseNotFound(StorageError):
    """The lease has expired or was revoked, or etcd was set back to before it was granted."""


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


class BesideChanged(StorageError):
    """Of what was to be written beside an object something has changed: `found` is all of it as it is, in order."""

    def __init__(self, found: list[StoredObject | None]) -> None:
        super().__init__("revision mismatch beside the object")
        self.found = found


class Untransformed(StorageError):
    """A value could not be made what etcd is to hold of it."""


class Fenced(StorageError):
    """The writer had the right to write from a lease that it no longer holds."""


# A write that was answered with one of these was certainly not made.
REFUSALS = (
    *(KeyExists, Conflict, BesideChanged, Untransformed, Fenced, TooLarge, NoSpace, LeaseNotFound),
    *(PermissionDenied, Unauthenticated),
)
