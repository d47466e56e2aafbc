"""The CA of the serving certificate as a trust bundle."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding

from gateway.access.file_reload import Following
from gateway.controllers.actor import Actor
from gateway.controllers.service_accounts import RootCertificates
from gateway.controllers.trust_bundles import SIGNER, ServingTrustBundle, bundle_name
from gateway.http.user import ITSELF
from gateway.settings.config import Settings
from tests.unit.verbs.conftest import Api


def leaf() -> str:
    """A certificate that is no CA's, as --tls-cert-file may have it."""
    key, name, now = ec.generate_private_key(ec.SECP256R1()), x509.Name([]), datetime.now(UTC)
    made = x509.CertificateBuilder(name, name, key.public_key(), 1, now, now + timedelta(days=1))
    return made.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM).decode()


def serving(api: Api, path: Path) -> Path:
    """The file of a serving certificate that no CA has signed."""
    path.write_text(leaf())
    api.endpoints.services.settings = Settings(tls_cert_file=path)
    return path


async def test_a_changed_certificate_takes_the_place_of_the_former_one(tmp_path: Path) -> None:
    api = Api()
    path = serving(api, tmp_path / "tls.crt")
    controllers = ServingTrustBundle(Actor(api.endpoints, ITSELF)), RootCertificates(Actor(api.endpoints, ITSELF))
    bundle, maps = controllers
    before = bundle.spec
    assert before is not None and maps.data == {"ca.crt": before["trustBundle"]}
    former = bundle.key("clustertrustbundles", "", bundle_name(before["trustBundle"]))
    following = Following()
    ends = [following.add(each) for controller in controllers for each in controller.files()]
    path.write_text(leaf() * 2)
    await following.look()
    assert bundle.spec is not None and bundle.spec["trustBundle"] == path.read_text() == maps.data["ca.crt"]
    assert await bundle.queue.get() == bundle.key("clustertrustbundles", "", bundle_name(path.read_text())) != former
    for end in ends:
        end()
    path.write_text(leaf())
    await following.look()
    assert not len(bundle.queue), "the controllers have ended"
    await bundle.reconcile(former)
    assert not [key for key in api.store.objects if b"/clustertrustbundles/" in key], "which is not made again"


async def test_a_certificate_of_no_ca_is_told_of_and_not_tried_again(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    api = Api()
    serving(api, tmp_path / "tls.crt")
    controller = ServingTrustBundle(Actor(api.endpoints, ITSELF))
    assert controller.spec is not None and controller.spec["signerName"] == SIGNER
    await controller.reconcile(controller.key("clustertrustbundles", "", bundle_name(controller.spec["trustBundle"])))
    assert "the serving certificate's CA is not published: " in caplog.text
    assert "entry 0 does not have the CA bit set" in caplog.text
    assert not [key for key in api.store.objects if b"/clustertrustbundles/" in key]
