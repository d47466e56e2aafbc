"""When a certificate signing request is deleted."""

from __future__ import annotations

from base64 import b64encode
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

from gateway.controllers.old_requests import OF_PODS, OldPodRequests, ends

NOW = datetime(2030, 1, 1, tzinfo=UTC)
HOUR = 3600


def stamp(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def request(*conditions: str, certificate: str = "") -> dict[str, Any]:
    at = stamp(NOW)
    status: dict[str, Any] = {"conditions": [{"type": each, "lastUpdateTime": at} for each in conditions]}
    if certificate:
        status["certificate"] = certificate
    return {"metadata": {"creationTimestamp": at}, "status": status}


def certificate(ends_after: timedelta) -> str:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([])
    made = x509.CertificateBuilder(name, name, key.public_key(), 1, NOW - timedelta(days=1), NOW + ends_after)
    pem = made.sign(key, hashes.SHA256()).public_bytes(encoding=_pem())
    return b64encode(pem).decode()


def _pem() -> Any:
    from cryptography.hazmat.primitives.serialization import Encoding

    return Encoding.PEM


@pytest.mark.parametrize(
    ("given", "hours"),
    [
        (request(), 24),
        (request("Denied"), 1),
        (request("Failed"), 1),
        (request("Approved"), 24),
        (request("Approved", "Failed"), 1),
        (request("Approved", certificate="bm90IG9uZQ=="), 1),
        (request("Approved", certificate=certificate(timedelta(days=9))), 1),
        (request("Approved", certificate=certificate(timedelta(minutes=30))), 0.5),
        (request("SomethingElse"), None),
    ],
)
def test_it_goes_an_hour_after_it_was_decided_or_a_day_after_it_was_left_alone(
    given: dict[str, Any], hours: float | None
) -> None:
    found = min(ends(given), default=None)
    assert found == (None if hours is None else NOW.timestamp() + hours * HOUR)


def test_one_for_a_pod_goes_a_quarter_of_an_hour_after_its_creation() -> None:
    left = OldPodRequests.end(OldPodRequests.__new__(OldPodRequests), request("Issued"))
    assert left == NOW.timestamp() + OF_PODS == NOW.timestamp() + 900
