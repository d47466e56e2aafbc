"""Control planes tell their clients another CA of the serving certificate once its file has changed."""

from __future__ import annotations

from base64 import b64decode
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import yaml
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from apiserver_gateway.testing import ApiServer, ask
from apiserver_gateway.testing.clusters import made
from gateway.controllers.trust_bundles import SIGNER
from gateway.credentials.certificates import Authority
from tests.forked import api_server
from tests.integration.access.conftest import write
from tests.until import until

BUNDLES = "/apis/certificates.k8s.io/v1/clustertrustbundles"
ROOT_CA = "/api/v1/namespaces/default/configmaps/kube-root-ca.crt"


def self_signed() -> Authority:
    """A serving certificate that is its own CA: a trust bundle takes no file with another serving certificate."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "of its own")])
    start = datetime.now(UTC) - timedelta(hours=1)
    builder = x509.CertificateBuilder(
        name, name, key.public_key(), x509.random_serial_number(), start, start + timedelta(days=1)
    )
    for extension, critical in (
        (x509.BasicConstraints(ca=True, path_length=None), True),
        (x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), False),
        (x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False),
    ):
        builder = builder.add_extension(extension, critical)
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return Authority(builder.sign(key, SHA256()).public_bytes(Encoding.PEM), private)


def put(directory: Path, authority: Authority) -> None:
    write(directory / "serving.key", authority.key.decode())
    write(directory / "serving.crt", authority.certificate.decode())


def test_they_follow_another_ca(tmp_path: Path) -> None:
    former, present = self_signed(), self_signed()
    put(tmp_path, former)
    flags = f"--tls-cert-file={tmp_path / 'serving.crt'}", f"--tls-private-key-file={tmp_path / 'serving.key'}"
    with api_server("--control-planes", *flags) as server:
        trusting(server, tmp_path, former, present)
        cluster = made(server, "kept")
        ask(cluster, "GET", ROOT_CA)

        def told(name: str) -> Any:
            secret = ask(server, "GET", f"/api/v1/namespaces/kube-system/secrets/control-plane-{name}")["data"]
            config = yaml.safe_load(b64decode(secret["kubeconfig"]))
            return b64decode(config["clusters"][0]["cluster"]["certificate-authority-data"]).decode()

        until(lambda: [former.certificate.decode()] == published(server))
        before = told("kept")
        assert former.certificate.decode() in before
        put(tmp_path, present)
        until(lambda: present.certificate.decode() in told("kept"))
        assert former.certificate.decode() not in told("kept")
        until(lambda: present.certificate.decode() in ask(cluster, "GET", ROOT_CA)["data"]["ca.crt"])
        with server.cluster("later") as later:
            assert present.certificate.decode() in told("later")
            assert present.certificate.decode() in ask(later, "GET", ROOT_CA)["data"]["ca.crt"]
        until(lambda: present.certificate.decode() in ask(server, "GET", ROOT_CA)["data"]["ca.crt"])
        until(lambda: [present.certificate.decode()] == published(server))


def published(server: ApiServer) -> list[str]:
    """What the server's trust bundles of its own CA have."""
    found = ask(server, "GET", BUNDLES)["items"]
    return [each["spec"]["trustBundle"] for each in found if each["spec"].get("signerName") == SIGNER]


def trusting(server: ApiServer, directory: Path, *authorities: Authority) -> None:
    """Makes the clients of the test trust these CAs."""
    (directory / "trusted.crt").write_bytes(b"".join(each.certificate for each in authorities))
    server.ca_file = directory / "trusted.crt"
