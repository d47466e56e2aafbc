"""An etcd with authentication: client certificates or users with passwords."""

from __future__ import annotations

import datetime
import http.client
import ipaddress
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from storage.embedded import EmbeddedEtcd


def certificate(directory: Path, name: str, issuer: str) -> None:
    """Writes name.pem and name.key, signed by `issuer`, whose files exist already unless it is `name` itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    key_bytes = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (directory / f"{name}.key").write_bytes(key_bytes)
    signer = serialization.load_pem_private_key((directory / f"{issuer}.key").read_bytes(), None)
    assert isinstance(signer, ec.EllipticCurvePrivateKey)
    now = datetime.datetime.now(datetime.UTC)
    built = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.BasicConstraints(ca=name == issuer, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .sign(signer, hashes.SHA256())
    )
    (directory / f"{name}.pem").write_bytes(built.public_bytes(serialization.Encoding.PEM))


def post(endpoint: str, path: str, body: dict[str, Any], token: str = "") -> dict[str, Any]:
    """Calls etcd's JSON gateway."""
    connection = http.client.HTTPConnection(endpoint.removeprefix("http://"))
    connection.request("POST", f"/v3/auth/{path}", json.dumps(body), {"Authorization": token} if token else {})
    response = connection.getresponse()
    answer = json.loads(response.read())
    assert response.status == 200, answer
    assert isinstance(answer, dict)
    return answer


def enable_users(etcd: EmbeddedEtcd) -> None:
    """Switches on etcd's authentication. The user "root" may do everything, "poor" nothing. Passwords are equal to
    names.
    """
    for path, body in (
        ("user/add", {"name": "root", "password": "root"}),
        ("user/grant", {"user": "root", "role": "root"}),
        ("user/add", {"name": "poor", "password": "poor"}),
        ("enable", {}),
    ):
        post(etcd.endpoint, path, body)


@contextmanager
def mutual_tls(directory: Path) -> Iterator[tuple[EmbeddedEtcd, Path, Path, Path]]:
    """An etcd that requires certificates of its CA, with the files of that CA and of a client's certificate and key."""
    for name in ("ca", "server", "client"):
        certificate(directory, name, "ca")
    files = {"cert-file": "server.pem", "key-file": "server.key", "trusted-ca-file": "ca.pem"}
    arguments = ["--client-cert-auth", *(f"--{flag}={directory / file}" for flag, file in files.items())]
    with EmbeddedEtcd(loopback=True, arguments=arguments) as etcd:
        yield etcd, directory / "ca.pem", directory / "client.pem", directory / "client.key"
