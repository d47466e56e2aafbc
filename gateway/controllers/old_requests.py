"""Deletes CertificateSigningRequests some time after their decision, or a day after their creation if undecided.

Source: Kubernetes, "Certificates and Certificate Signing Requests", "Request signing process". PodCertificateRequests
are deleted 15 minutes after their creation (KEP-4317): the kubelet has its certificate by then.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator

from gateway import clock
from gateway.controllers.keyed_controller import KeyedController
from gateway.jsontypes import JsonObject
from gateway.kinds.metadata import seconds_of
from gateway.writing.options import DeleteOptions
from storage.entry import Entry

DECIDED = 3600.0  # seconds that a denied, failed or issued request stays
OF_PODS = 15 * 60.0  # seconds that a PodCertificateRequest stays
PENDING = 24 * 3600.0  # seconds that a request stays which waits for approval, or for its certificate
_VERSION = ("certificates.k8s.io", "v1")


class OldRequests(KeyedController):
    """The controller of CertificateSigningRequests. Its queue has their keys."""

    queue_name = "certificatesigningrequest_cleaner"
    resources: tuple[str, ...] = ("certificatesigningrequests",)

    def on_update(self, resource: str, entry: Entry) -> None:
        self.queue.add(entry.key)

    async def reconcile(self, key: bytes) -> None:
        request = self.cached(key)
        if request is None or (*_VERSION, self.resources[0]) in self.actor.endpoints.registry.unserved:
            return
        left = self.end(request)
        if left is None:
            return
        if (seconds := left - clock.now()) > 0:
            self.queue.add_after(key, seconds + 0.01)
            return
        requests = self.actor.of(*_VERSION, self.resources[0])
        await self.delete(requests, request, DeleteOptions())

    def end(self, request: JsonObject) -> float | None:
        """When a request must be deleted, in seconds since 1970; None if it stays."""
        return min(ends(request), default=None)


class OldPodRequests(OldRequests):
    """The controller of PodCertificateRequests. Does nothing if they are not served."""

    queue_name = "podcertificaterequest_cleaner"
    resources = ("podcertificaterequests",)

    def end(self, request: JsonObject) -> float | None:
        return seconds_of(request["metadata"]["creationTimestamp"]) + OF_PODS


def ends(request: JsonObject) -> Iterator[float]:
    """For each reason to delete a request, the time in seconds since 1970 at which it applies."""
    status = request.get("status") or {}
    conditions, certificate = status.get("conditions") or (), status.get("certificate") or ""
    if not conditions:
        yield seconds_of(request["metadata"]["creationTimestamp"]) + PENDING
    for condition in conditions:
        approved = condition.get("type") == "Approved"
        if approved and certificate:
            yield from _expiry(certificate)
        at = condition.get("lastUpdateTime")
        if at and (approved or condition.get("type") in ("Denied", "Failed")):
            yield seconds_of(at) + (PENDING if approved and not certificate else DECIDED)


def _expiry(certificate: str) -> Iterator[float]:
    from gateway.certificate_reader import certificate_of_pem

    try:
        yield certificate_of_pem(b64decode(certificate)).not_valid_after_utc.timestamp()
    except ValueError:
        return  # an unreadable certificate has no expiry of its own
