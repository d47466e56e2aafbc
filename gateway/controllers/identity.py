"""Keeps a Lease `apiserver-…` in kube-system for each running server, as kube-apiserver does.

Its name is a hash of the host's name, so that a restarted server has the same Lease. The server renews it every ten
seconds and deletes it at a clean stop. Any server deletes Leases that were not renewed for an hour.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import time
from base64 import b32encode
from datetime import UTC, datetime
from hashlib import sha256
from uuid import uuid4

from gateway.controllers.actor import Actor
from gateway.controllers.bootstrap import advertised
from gateway.controllers.outages import Outage
from gateway.endpoints.table import EndpointTable
from gateway.http.status import StatusError
from gateway.http.user import ITSELF
from gateway.jsontypes import JsonObject
from gateway.writing.options import DeleteOptions
from storage.errors import StorageError

logger = logging.getLogger(__name__)

NAMESPACE, COMPONENT = "kube-system", "kube-apiserver"
LABEL, HOST_LABEL = "apiserver.kubernetes.io/identity", "kubernetes.io/hostname"
ADDRESS = "kubernetes.io/peer-advertise-address"
DURATION = 3600  # leaseDurationSeconds, and the seconds between checks for expired leases of others
RENEW_EVERY = 10.0
DELETE_TIMEOUT = 1.0  # the most seconds that a stopping server waits for the deletion of its lease


def lease_name(host: str) -> str:
    """The name of a host's lease: a hash of the host and the component, each prefixed by its length in two bytes."""
    hashed = b"".join(len(part).to_bytes(2, "big") + part for part in (host.encode(), COMPONENT.encode()))
    return "apiserver-" + b32encode(sha256(hashed).digest()[:16]).decode().rstrip("=").lower()


def is_expired(lease: JsonObject, now: float) -> bool:
    """Whether a lease has expired, or was never renewed. `now` is in seconds since 1970."""
    spec = lease.get("spec") or {}
    renewed, seconds = spec.get("renewTime"), spec.get("leaseDurationSeconds")
    if not renewed or seconds is None:
        return True
    return datetime.fromisoformat(renewed).timestamp() + float(seconds) < now


class IdentityLease:
    """This server's lease."""

    def __init__(self, endpoints: EndpointTable) -> None:
        settings = endpoints.services.settings
        self._actor = Actor(endpoints, ITSELF, manager=COMPONENT)
        self._leases = self._actor.of("coordination.k8s.io", "v1", "leases")
        self._host = socket.gethostname()
        self.name = lease_name(self._host)
        self._holder = f"{self.name}_{uuid4()}"
        address = settings.advertise_address or advertised(settings.bind_address)
        self._address = f"{f'[{address}]' if ':' in address else address}:{settings.secure_port}"

    async def run(self, stopping: asyncio.Event) -> None:
        """Renews the lease until the process stops, then deletes it. Also deletes expired leases of other servers."""
        cleared, outage = -DURATION * 1.0, Outage(logger, "this server's lease was not renewed")
        while not stopping.is_set():
            try:
                await self._renew()
                if time.monotonic() - cleared >= DURATION:
                    await self.clear(time.time())
                    cleared = time.monotonic()
                outage.succeeded()
            except (StatusError, StorageError) as error:
                outage.failed(error)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stopping.wait(), RENEW_EVERY)
        with contextlib.suppress(StatusError, StorageError, TimeoutError):
            async with asyncio.timeout(DELETE_TIMEOUT):
                await self._actor.delete(self._leases, NAMESPACE, self.name, DeleteOptions())

    async def clear(self, now: float) -> None:
        """Deletes the expired leases of servers. Raises StatusError, StorageError."""
        mark = f'"{LABEL}":"{COMPONENT}"'.encode()
        for entry in self._leases.store.cached_entries(self._leases.collection(NAMESPACE)):
            if entry.readable is not entry or mark not in entry.tail:
                continue
            lease = entry.parsed()
            meta = lease["metadata"]
            if (meta.get("labels") or {}).get(LABEL) == COMPONENT and is_expired(lease, now):
                version = str(entry.revision)  # a lease that was renewed meanwhile stays
                options = DeleteOptions(uid=meta["uid"], resource_version=version)
                with contextlib.suppress(StatusError):
                    await self._actor.delete(self._leases, NAMESPACE, meta["name"], options)

    async def _renew(self) -> None:
        """Renews or creates the lease. Raises StatusError, StorageError."""
        if not await self._actor.change(self._leases, NAMESPACE, self.name, self._renewed):
            lease: JsonObject = {"metadata": {"name": self.name}}
            self._renewed(lease)
            await self._actor.create(self._leases, NAMESPACE, lease)

    def _renewed(self, lease: JsonObject) -> bool:
        """Renews the lease object in place. Returns whether it changed.

        The processes of a host share its lease. The holder stays as long as one of them renews it; a lease that another
        process has just renewed is not changed.
        """
        meta, spec, now = lease["metadata"], lease.setdefault("spec", {}), datetime.now(UTC)
        renewed = datetime.fromisoformat(spec["renewTime"]) if spec.get("renewTime") else None
        age = (now - renewed).total_seconds() if renewed else 2 * RENEW_EVERY
        if 0 <= age < RENEW_EVERY / 2:
            return False
        if not 0 <= age < 2 * RENEW_EVERY:
            spec["holderIdentity"] = self._holder
        meta.setdefault("labels", {}).update({LABEL: COMPONENT, HOST_LABEL: self._host})
        meta.setdefault("annotations", {})[ADDRESS] = self._address
        spec["leaseDurationSeconds"] = DURATION
        spec["renewTime"] = now.isoformat(timespec="microseconds").replace("+00:00", "Z")
        return True
