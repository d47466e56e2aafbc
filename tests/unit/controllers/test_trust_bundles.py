"""The CA of the serving certificate as a trust bundle."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding

from gateway.controllers.actor import Actor
from gateway.controllers.trust_bundles import SIGNER, ServingTrustBundle, bundle_name, can_be_published
from gateway.credentials.certificates import new_authority
from gateway.http.user import ITSELF
from gateway.settings.config import Settings
from tests.unit.verbs.conftest import Api


def leaf() -> str:
    """A certificate that is not a CA's, as --tls-cert-file may have it."""
    key, name, now = ec.generate_private_key(ec.SECP256R1()), x509.Name([]), datetime.now(UTC)
    made = x509.CertificateBuilder(name, name, key.public_key(), 1, now, now + timedelta(days=1))
    return made.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM).decode()


async def test_a_certificate_of_no_ca_is_told_of_and_not_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    api = Api()
    controller = ServingTrustBundle(Actor(api.endpoints, ITSELF))
    controller.spec = {"signerName": SIGNER, "trustBundle": leaf()}
    await controller.reconcile(controller.key("clustertrustbundles", "", bundle_name(controller.spec["trustBundle"])))
    assert "the serving certificate's CA is not published: " in caplog.text
    assert "entry 0 does not have the CA bit set" in caplog.text
    assert not [key for key in api.store.objects if b"/clustertrustbundles/" in key]


def test_a_certificate_that_is_no_ca_cannot_be_published(tmp_path: Path) -> None:
    """A control plane that waited for it would be ready ten seconds late."""
    settings = Settings(tls_cert_file=tmp_path / "serving.crt")
    assert not can_be_published(settings), "there is no file"
    for text, yes in ((leaf(), False), ("", False), (new_authority().certificate.decode(), True)):
        (tmp_path / "serving.crt").write_text(text)
        assert can_be_published(settings) is yes
