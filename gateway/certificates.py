"""Self-signed serving certificates: a CA and a server certificate of its own, kept in --cert-dir and used again."""

from __future__ import annotations

import ipaddress
import os
import ssl
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography import x509

DNS_NAMES = (
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)
ADDRESSES = ("127.0.0.1", "::1")
VALIDITY = timedelta(days=3650)


@dataclass(frozen=True, slots=True)
class Certificates:
    """Paths of PEM files. `ca` is what clients have to trust; `certificate` holds the whole chain."""

    ca: Path
    certificate: Path
    key: Path


def ensure_certificates(directory: Path, addresses: Sequence[str]) -> Certificates:
    """The certificates in `directory`; made there if they are missing, expired, or don't cover `addresses`."""
    paths = Certificates(directory / "ca.crt", directory / "apiserver.crt", directory / "apiserver.key")
    names = sorted({*ADDRESSES, *addresses})
    covered = directory / "addresses"
    if all(path.is_file() for path in (paths.ca, paths.certificate, paths.key)) and _covers(covered, names):
        return paths
    directory.mkdir(parents=True, exist_ok=True)
    ca, certificate, key = generate(names)
    _write(paths.key, key, 0o600)
    _write(paths.certificate, certificate, 0o644)
    _write(paths.ca, ca, 0o644)
    _write(covered, "\n".join(names).encode(), 0o644)
    return paths


def _covers(covered: Path, names: Sequence[str]) -> bool:
    """Whether the present certificate was made for all these names, and not too long ago."""
    try:
        known = covered.read_text(encoding="utf-8").split("\n")
        made = datetime.fromtimestamp(covered.stat().st_mtime, UTC)
    except OSError:
        return False
    return set(names) <= set(known) and datetime.now(UTC) - made < VALIDITY / 2


def generate(addresses: Sequence[str]) -> tuple[bytes, bytes, bytes]:
    """A new CA certificate, a server certificate with the CA's behind it, and its key; PEM. The CA's key is dropped."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

    start = datetime.now(UTC) - timedelta(hours=1)
    ca_key, server_key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    ca_name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"apiserver-gateway-ca@{start:%s}")])

    def builder(subject: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        return x509.CertificateBuilder(
            issuer_name=ca_name,
            subject_name=subject,
            public_key=key,
            serial_number=x509.random_serial_number(),
            not_valid_before=start,
            not_valid_after=start + VALIDITY,
        )

    ca = (
        builder(ca_name, ca_key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(sign=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(ca_key.public_key()), critical=False)
        .sign(ca_key, hashes.SHA256())
    )
    names: list[x509.GeneralName] = [x509.DNSName(name) for name in DNS_NAMES]
    names += [x509.IPAddress(ipaddress.ip_address(address)) for address in addresses]
    server = (
        builder(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "apiserver-gateway")]), server_key.public_key())
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(sign=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key()), critical=False)
        .sign(ca_key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    ca_pem = ca.public_bytes(pem)
    key_pem = server_key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return ca_pem, server.public_bytes(pem) + ca_pem, key_pem


def _usage(sign: bool) -> x509.KeyUsage:
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=sign,
        crl_sign=sign,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _write(path: Path, content: bytes, mode: int) -> None:
    """Writes a file in one step, so that another process sees the old or the new one."""
    handle, name = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
    Path(name).chmod(mode)
    Path(name).replace(path)


def server_context(certificate: Path, key: Path, authorities: Sequence[Path] = ()) -> ssl.SSLContext:
    """The TLS context to serve with; raises ssl.SSLError or OSError for files that are no certificate and key.

    With `authorities` clients are asked for a certificate of one of them; they need not have one.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    context.load_cert_chain(certificate, key)
    for path in authorities:
        context.load_verify_locations(path)
        context.verify_mode = ssl.CERT_OPTIONAL
    return context
