"""The exceptions of storage, with the data that a caller needs."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from storage.values import UnreadableValue


class StorageError(Exception):
    """Base of everything that storage raises."""


class CorruptObject(StorageError):
    """The value stored under a key can't be read; `reason` says why. It is never shown, nor written back.

    Its text is that of kube-apiserver's storage. `untransformed` tells that the value could not be decrypted.
    """

    def __init__(self, key: bytes, revision: int, reason: str, raw: bytes = b"") -> None:
        self.untransformed = isinstance(raw, UnreadableValue)
        if self.untransformed:
            super().__init__(f"data from the storage is not transformable revision=0: {reason}")
        else:
            super().__init__(f"object not decodable revision={revision}: {reason}")
        self.key, self.revision, self.reason = key, revision, reason


class AwaitedObject(CorruptObject):
    """The value stored under a key can't be read at present: a service that it needs, such as a KMS, is down."""


class StoredObject(NamedTuple):
    """A key's value with its mod revision. `raw` is the canonical value, or for a `corrupt` one the bytes of etcd."""

    key: bytes
    raw: bytes
    revision: int
    corrupt: str = ""  # why the value can't be read; empty if it can
    anew: bool = False  # whether etcd has it in an outdated form: the next write stores it even if nothing changed

    @property
    def value(self) -> bytes:
        """The canonical value: JSON without a resourceVersion. Raises CorruptObject."""
        if self.corrupt:
            raise CorruptObject(self.key, self.revision, self.corrupt, self.raw)
        return self.raw


class Unavailable(StorageError):
    """No etcd endpoint answered in time, or etcd has no leader. A write was not made, unless this is `Unanswered`."""


class NotLoaded(Unavailable):
    """The cache does not have the objects of a resource yet: the process is starting."""


class DeadlineExceeded(Unavailable):
    """etcd did not answer a call before its deadline."""


class OtherCluster(Unavailable):
    """etcd endpoints belong to different clusters, or not to the cluster that is served. They are not used."""

    BEGINNING: ClassVar = "etcd's endpoints are not of one cluster"
    REMEDY: ClassVar = (
        "name the endpoints of one cluster only (--etcd-servers); "
        "where all was restored from a backup, start all of its members"
    )


class Unanswered(Unavailable):
    """A write was sent to etcd, and no answer came: etcd may have made it, may make it later, or never."""


class Compacted(StorageError):
    """The requested revision is older than etcd's last compaction."""

    def __init__(self, compact_revision: int = 0, revision: int = 0) -> None:
        super().__init__(f"revision has been compacted (compact revision {compact_revision})")
        self.compact_revision, self.revision = compact_revision, revision


class FutureRevision(StorageError):
    """The requested revision is newer than etcd's current one."""

    def __init__(self, current: int = 0) -> None:
        super().__init__("required revision is a future revision")
        self.current = current


class NoSpace(StorageError):
    """etcd's database exceeded its quota: etcd accepts only deletions until an operator has made room."""

    REMEDY: ClassVar = (
        "compact and defragment etcd, or raise its --quota-backend-bytes, "
        "then clear the alarm with `etcdctl alarm disarm`"
    )


class TooLarge(StorageError):
    """The request is larger than etcd accepts."""


class LeaseNotFound(StorageError):
    """The lease has expired or was revoked, or etcd was restored to a state from before the lease."""


class PermissionDenied(StorageError):
    """etcd's own authorization refused the call."""


class Unauthenticated(StorageError):
    """etcd refused the credentials."""


class KeyExists(StorageError):
    """A create found that the key exists; `current` is the present version."""

    def __init__(self, current: StoredObject) -> None:
        super().__init__("key exists")
        self.current = current


class Conflict(StorageError):
    """A compare-and-swap lost: `current` is the present version, None if the key does not exist."""

    def __init__(self, current: StoredObject | None) -> None:
        super().__init__("revision mismatch")
        self.current = current


class BesideChanged(StorageError):
    """An object that was to be written beside another one has changed.

    `found` has the present versions of all objects beside it, in the caller's order; None for one that does not exist.
    """

    def __init__(self, found: list[StoredObject | None]) -> None:
        super().__init__("revision mismatch beside the object")
        self.found = found


class Untransformed(StorageError):
    """A value could not be transformed for etcd, such as encrypted."""


class Fenced(StorageError):
    """The writer no longer holds the lease that allowed it to write."""


class WholeDeleted(Fenced):
    """What a key belongs to, such as a control plane, has been deleted."""


class WholeReplaced(Fenced):
    """What a key belongs to, such as a control plane, has other objects since this process has read it."""


# A write that raised one of these was certainly not made.
REFUSALS = (
    *(KeyExists, Conflict, BesideChanged, Untransformed, Fenced, TooLarge, NoSpace, LeaseNotFound),
    *(PermissionDenied, Unauthenticated),
)
