"""Counts the certificates that are issued for requests with a duration (KEP-2784, "Monitoring Requirements")."""

from __future__ import annotations

from base64 import b64decode

from gateway.jsontypes import JsonObject
from gateway.pem import blocks
from storage.instruments import counter

_REQUESTED = counter(
    "apiserver_certificates_registry_csr_requested_duration_total",
    "Certificates that were issued for requests with a duration, by signer; signers outside kubernetes.io are 'other'.",
    "signerName",
)
_HONORED = counter(
    "apiserver_certificates_registry_csr_honored_duration_total",
    "Certificates that were issued with about the duration that was requested, by signer.",
    "signerName",
)
_LEEWAY = 300.0  # seconds by which signers date short certificates back


def count_issued(request: JsonObject, old: JsonObject) -> None:
    """Counts a CertificateSigningRequest that has got its certificate by this update, if it asks for a duration."""
    wanted = old["spec"].get("expirationSeconds")
    issued = (request.get("status") or {}).get("certificate")
    if wanted is None or not issued or (old.get("status") or {}).get("certificate"):
        return
    name = old["spec"]["signerName"]
    signer = name if name.startswith("kubernetes.io/") else "other"
    _REQUESTED.labels(signer).inc()
    lasts = _duration(b64decode(issued))
    if lasts is not None and abs(wanted - lasts) < _LEEWAY + wanted / 20:
        _HONORED.labels(signer).inc()


def _duration(pem: bytes) -> float | None:
    """The seconds for which the first certificate is valid; None if it cannot be read."""
    from gateway.certificate_reader import certificate_of

    try:
        first = next(block for block in blocks(pem) if block.kind == "CERTIFICATE")
        found = certificate_of(first.content)
    except (StopIteration, ValueError):
        return None
    return (found.not_valid_after_utc - found.not_valid_before_utc).total_seconds()
