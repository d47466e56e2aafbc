"""Objects that expire: events, --event-ttl after their last write.

They are written with an etcd lease, at whose end etcd deletes them. Objects that are written at about the same time
share a lease, as in kube-apiserver's lease manager, because a lease costs etcd more than a key.
"""

from __future__ import annotations

import contextlib
import time

from gateway import clock
from storage.errors import LeaseNotFound
from storage.etcd.lease import Leases

SHARED_SECONDS = 60  # a lease is shared for so long at most, and at most for SHARED_PART of the objects' lifetime
SHARED_PART = 0.05
SHARED_OBJECTS = 1000


class Expiry:
    """Provides leases for objects that live for at least `seconds`."""

    __slots__ = ("_given", "_id", "_leases", "_objects", "_seconds", "_shared", "_until")

    def __init__(self, leases: Leases, seconds: int) -> None:
        self._leases, self._seconds = leases, seconds
        self._shared = min(SHARED_SECONDS, int(seconds * SHARED_PART))
        self._id = self._objects = 0
        self._until = 0.0
        self._given: dict[int, float] = {}  # leases that may have objects, and the time of the last write with each

    async def lease(self) -> int:
        """The ID of the lease for the next object. Raises StorageError."""
        if time.monotonic() >= self._until or self._objects >= SHARED_OBJECTS:
            granted = await self._leases.grant(self._seconds + self._shared)
            self._id, self._objects = granted.id, 0
            self._until = time.monotonic() + self._shared
            self._forget_old()
        self._objects += 1
        self._given[self._id] = clock.now()
        return self._id

    async def another(self, lost: int) -> int:
        """The ID of a lease that replaces `lost`, which etcd no longer has, as after a restore. Raises StorageError."""
        if self._id == lost:
            self._until = 0.0
        return await self.lease()

    async def expire(self) -> None:
        """Revokes the leases whose objects have expired by `gateway.clock`, which tests can set forward. Raises
        StorageError.
        """
        for id, written in list(self._given.items()):
            if clock.now() >= written + self._seconds:
                del self._given[id]
                if id == self._id:
                    self._until = 0.0
                with contextlib.suppress(LeaseNotFound):
                    await self._leases.revoke(id)

    def _forget_old(self) -> None:
        ended = clock.now() - self._seconds - self._shared
        for id in [id for id, written in self._given.items() if written < ended]:
            del self._given[id]
