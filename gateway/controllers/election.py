"""Leader election: the process that holds a Lease in kube-system runs the controllers, as with client-go.

The leader renews the Lease. Another process takes the Lease if it has not seen a renewal for the Lease's duration, by
its own clock. A leader that stops releases the Lease, so that the next one begins at once. All writes of the leader
compare the Lease's mod revision (`storage/fence.py`). So a process that lost the Lease without noticing writes nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import socket
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from uuid import uuid4

from gateway.controllers.actor import Actor
from gateway.http.status import StatusError, conflict
from gateway.jsontypes import JsonObject, loads
from gateway.pieces import is_ending, raise_own
from storage.entry import Change
from storage.errors import StorageError, StoredObject
from storage.fence import Fence
from storage.guard import FAILURES
from storage.instruments import ALPHA, gauge

logger = logging.getLogger(__name__)

LEASES = "coordination.k8s.io", "v1", "leases"
NAME, NAMESPACE = "apiserver-gateway-controllers", "kube-system"
DURATION = 10  # leaseDurationSeconds
RENEW_DEADLINE = 7.0  # seconds after which a leader that could not renew it gives up
RENEW_EVERY = 2.0
RETRY = 0.5  # seconds after a failed attempt

LEADING = gauge(
    "leader_election_master_status", "1 if this process runs the controllers.", "name", level=ALPHA, across="max"
)

Lead = Callable[[Fence], Awaitable[None]]
"""Does the work of the leader, until cancelled."""


class Election:
    """This process as a candidate of the election."""

    def __init__(self, actor: Actor, stopping: asyncio.Event) -> None:
        self.identity = f"{socket.gethostname()}_{uuid4()}"
        self.leading = False
        self._actor, self._stopping = actor, stopping
        self._leases = actor.of(*LEASES)
        self._key = self._leases.key(NAMESPACE, NAME)
        self.fence = Fence(self._key, lambda value: _holder(loads(value)) == self.identity)
        self._seen = 0  # the last seen mod revision of the lease (0: none), and below when it was seen first
        self._seen_at = 0.0
        self._changed = asyncio.Event()

    async def run(self, lead: Lead) -> None:
        """Calls `lead` whenever this process gets the lease, until the process stops."""
        end = self._leases.cache.listen(self._told)
        try:
            while not self._stopping.is_set():
                if await self._acquired():
                    await self.hold(lead)
                else:
                    await self._turn()
        finally:
            end()

    def _told(self, change: Change | None) -> None:
        if change is None or change.key == self._key:
            self._changed.set()

    # not leading

    async def _turn(self) -> None:
        """Waits until the lease may be free, or the process stops."""
        self._changed.clear()
        wait = max(self._seen_at + DURATION - time.monotonic(), RETRY) if self._seen else RETRY
        changed = asyncio.ensure_future(self._changed.wait())
        stopped = asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait((changed, stopped), timeout=wait, return_when=asyncio.FIRST_COMPLETED)
        finally:
            changed.cancel()
            stopped.cancel()

    def _is_free(self, current: StoredObject | None) -> bool:
        """Whether the lease may be taken. Stores its revision, and when that changed."""
        if current is None:
            self._seen = 0
            return True
        lease = loads(current.value)
        if current.revision != self._seen:
            self._seen, self._seen_at = current.revision, time.monotonic()
        if not _holder(lease) or _holder(lease) == self.identity:
            return True
        duration = (lease.get("spec") or {}).get("leaseDurationSeconds") or DURATION
        return time.monotonic() >= self._seen_at + duration

    async def _acquired(self) -> bool:
        current = self._leases.store.cached(self._key)
        if not self._is_free(current):
            return False
        try:
            return await self._take(create=current is None)
        except (StatusError, StorageError) as error:
            logger.debug("the lease could not be taken", extra={"error": str(error)})
            return False

    async def _take(self, *, create: bool) -> bool:
        """Takes or renews the lease. Returns whether this process holds it. Raises StatusError, StorageError."""
        if create:
            obj: JsonObject = {"metadata": {"name": NAME}}
            self._claim(obj, {})
            written = await self._actor.create(self._leases, NAMESPACE, obj)
            if written is not None:
                self.fence.revision = written.revision
                return True
        seen = self._seen

        def alter(lease: JsonObject) -> bool:
            holder = _holder(lease)
            if holder not in ("", self.identity) and str(seen) != lease["metadata"]["resourceVersion"]:
                raise conflict("coordination.k8s.io", "leases", NAME, "it was renewed meanwhile")
            self._claim(lease, lease.get("spec") or {})
            return True

        written = await self._actor.changed(self._leases, NAMESPACE, NAME, alter)
        if written is None:
            return False
        self.fence.revision = written.revision
        return True

    def _claim(self, lease: JsonObject, before: JsonObject) -> None:
        now = datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
        taken = before.get("holderIdentity", "") != self.identity
        lease["spec"] = {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": DURATION,
            "acquireTime": now if taken else before.get("acquireTime", now),
            "renewTime": now,
            "leaseTransitions": before.get("leaseTransitions", 0) + (1 if taken and before else 0),
        }

    # leading

    async def hold(self, lead: Lead) -> None:
        """Leads while the lease can be renewed. In the end, releases the lease if this process still holds it."""
        logger.info("this process runs the controllers", extra={"identity": self.identity})
        self.leading = True
        LEADING.labels(NAME).set(1)
        leading = asyncio.create_task(_forever(lead, self.fence), name="controllers")
        try:
            await self._renew()
        finally:
            self.leading = False
            LEADING.labels(NAME).set(0)
            leading.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await leading
            await self._release()

    async def _renew(self) -> None:
        """Renews the lease until it is lost or the process stops."""
        renewed = time.monotonic()
        while not self._stopping.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), RENEW_EVERY)
                return
            try:
                async with asyncio.timeout(RENEW_DEADLINE - RENEW_EVERY):
                    if not self.fence.revision or not await self._take(create=False):
                        break
                renewed = time.monotonic()
            except StatusError:
                break  # another process has it
            except (StorageError, TimeoutError) as error:
                if time.monotonic() - renewed > RENEW_DEADLINE:
                    break
                logger.debug("the controllers' lease was not renewed", extra={"error": str(error)})  # the watch logs it
        logger.info("this process no longer runs the controllers", extra={"identity": self.identity})

    async def _release(self) -> None:
        held, self.fence.revision = self.fence.revision, 0
        if not held:
            return

        def alter(lease: JsonObject) -> bool:
            if _holder(lease) != self.identity:
                return False
            spec = lease["spec"]
            spec.update(holderIdentity="", leaseDurationSeconds=1, renewTime=spec["renewTime"])
            return True

        with contextlib.suppress(StatusError, StorageError, TimeoutError):
            async with asyncio.timeout(1.0):
                await self._actor.changed(self._leases, NAMESPACE, NAME, alter)


async def _forever(lead: Lead, fence: Fence) -> None:
    """Leads until cancelled. If that fails, leads again after a pause."""
    while not is_ending():
        try:
            await lead(fence)
        except (Exception, asyncio.CancelledError) as error:
            raise_own(error)
            logger.exception("the controllers failed, starting them again")
            FAILURES.labels("leading controllers").inc()
        await asyncio.sleep(1 + random.random())


def _holder(lease: JsonObject) -> str:
    return str((lease.get("spec") or {}).get("holderIdentity") or "")
