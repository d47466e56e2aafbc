"""The server's own certificates in --cert-dir: a CA, which is made once, and a serving certificate that it signs."""

from __future__ import annotations

import os
import ssl
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from gateway.access.signing_authority import general_name
from gateway.credentials.judged_later import judge_later
from gateway.credentials.named_authorities import name_authorities
from gateway.credentials.named_certificates import by_name, choose_by_name
from gateway.files import exclusive, replace_file
from gateway.outbound.named_curves import require_named_curves
from gateway.settings.config import Settings
from gateway.settings.tls_choices import openssl_ciphers

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.asymmetric.types import CertificateIssuerPrivateKeyTypes

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
class CertificateFiles:
    """Paths of PEM files. `ca` is the CA that clients must trust; `certificate` has the whole chain."""

    ca: Path
    certificate: Path
    key: Path


@dataclass(frozen=True, slots=True)
class Authority:
    """A CA: its certificate and its key, in PEM."""

    certificate: bytes
    key: bytes


def ensure_certificates(directory: Path, names: Collection[str]) -> CertificateFiles:
    """The certificates in `directory`, made if needed. `names` are host names and addresses besides the usual ones.

    A CA is made if its certificate or key is missing. A server certificate is made if it is missing, half its lifetime
    is over, another CA has signed it, or it does not cover the names. In a read-only directory, such as a mounted
    Secret, existing files are used as they are. Raises OSError, and ValueError for an invalid CA.
    """
    paths = CertificateFiles(directory / "ca.crt", directory / "apiserver.crt", directory / "apiserver.key")
    wanted = sorted({*ADDRESSES, *names})
    covered = directory / "addresses"
    present = all(path.is_file() for path in (paths.ca, paths.certificate, paths.key))
    if present and _covers(covered, wanted) and _is_of(paths.certificate, paths.ca):
        return paths
    if present and not os.access(directory, os.W_OK):
        return paths
    directory.mkdir(parents=True, exist_ok=True)
    with exclusive(directory):
        certificate, key = issue(_kept_authority(directory), wanted)
        replace_file(paths.key, key, 0o600)
        replace_file(paths.certificate, certificate, 0o644)
        replace_file(covered, "\n".join(wanted).encode(), 0o644)
    return paths


def wrong_dates(ca: Path) -> str:
    """The message for a CA that is not yet valid or has expired, with a remedy; "" for a valid one. Raises OSError for
    an invalid file.
    """
    context, now = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), time.time()
    context.load_verify_locations(ca)
    for found in context.get_ca_certs():
        since, until = str(found["notBefore"]), str(found["notAfter"])
        if ssl.cert_time_to_seconds(since) > now:
            when = f"is not valid before {since}"
        elif ssl.cert_time_to_seconds(until) < now:
            when = f"has been over since {until}"
        else:
            continue
        return (
            f"the CA {ca} {when}, so that clients refuse this server: set the clock right, or, if the CA was made "
            "under a wrong clock, remove it with its key and start again"
        )
    return ""


def keep_authority(directory: Path, authority: Authority) -> None:
    """Stores a CA in `directory`, as the issuer of the certificates there. Raises OSError."""
    replace_file(directory / "ca.key", authority.key, 0o600)
    replace_file(directory / "ca.crt", authority.certificate, 0o644)


def _kept_authority(directory: Path) -> Authority:
    certificate, key = directory / "ca.crt", directory / "ca.key"
    if certificate.is_file() and key.is_file():
        return Authority(certificate.read_bytes(), key.read_bytes())
    authority = new_authority()
    keep_authority(directory, authority)
    return authority


def _covers(covered: Path, names: Collection[str]) -> bool:
    """Whether the present certificate covers all the names, and less than half its lifetime is over."""
    try:
        known = covered.read_text(encoding="utf-8").split("\n")
        made = datetime.fromtimestamp(covered.stat().st_mtime, UTC)
    except OSError:
        return False
    return set(names) <= set(known) and datetime.now(UTC) - made < VALIDITY / 2


def _is_of(certificate: Path, ca: Path) -> bool:
    """Whether the CA has issued the certificate: `issue` appends the CA's certificate to the file."""
    return certificate.read_bytes().endswith(ca.read_bytes())


def new_authority(validity: timedelta = VALIDITY, name: str = "") -> Authority:
    """A new CA with a lifetime of `validity`; `name` is its common name, "" stands for one with the present time."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    common_name = name or f"apiserver-gateway-ca@{datetime.now(UTC):%s}"
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
    certificate = (
        _builder(subject, subject, key.public_key(), validity)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(sign=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    return Authority(_pem(certificate), _key_pem(key))


def issue(authority: Authority, names: Collection[str]) -> tuple[bytes, bytes]:
    """A new server certificate, followed by the CA's, and its key, both in PEM. Raises ValueError for an invalid CA."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

    ca = x509.load_pem_x509_certificate(authority.certificate)
    ca_key: CertificateIssuerPrivateKeyTypes = serialization.load_pem_private_key(authority.key, None)  # type: ignore[assignment]  # whatever a CA may sign with
    if ca.public_key() != ca_key.public_key():
        raise ValueError("the CA's certificate and its key don't belong together")
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "apiserver-gateway")])
    alternatives = [x509.DNSName(name) for name in DNS_NAMES] + [general_name(name) for name in names]
    certificate = (
        _builder(ca.subject, subject, key.public_key())
        .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(sign=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(_key_identifier(ca), critical=False)
        .sign(ca_key, hashes.SHA256())
    )
    return _pem(certificate) + authority.certificate, _key_pem(key)


def _key_identifier(ca: x509.Certificate) -> x509.AuthorityKeyIdentifier:
    """The authority key identifier: the CA's own subject key identifier, which may be another than the usual digest
    (RFC 5280, 4.2.1.2).
    """
    from cryptography import x509

    try:
        own = ca.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    except x509.ExtensionNotFound:
        return x509.AuthorityKeyIdentifier.from_issuer_public_key(ca.public_key())  # type: ignore[arg-type]  # whatever a CA may sign with
    return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(own)


def _builder(
    issuer: x509.Name, subject: x509.Name, key: ec.EllipticCurvePublicKey, validity: timedelta = VALIDITY
) -> x509.CertificateBuilder:
    from cryptography import x509

    start = datetime.now(UTC) - timedelta(hours=1)
    return x509.CertificateBuilder(
        issuer_name=issuer,
        subject_name=subject,
        public_key=key,
        serial_number=x509.random_serial_number(),
        not_valid_before=start,
        not_valid_after=start + validity,
    )


def _pem(certificate: x509.Certificate) -> bytes:
    from cryptography.hazmat.primitives import serialization

    return certificate.public_bytes(serialization.Encoding.PEM)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    from cryptography.hazmat.primitives import serialization

    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


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


def authorities_of(settings: Settings) -> list[Path]:
    """The files of the CAs that may sign client certificates."""
    return [each for each in (settings.client_ca_file, settings.requestheader_client_ca_file) if each]


def server_context(
    certificate: Path,
    key: Path,
    authorities: Sequence[Path] = (),
    oldest: str = "VersionTLS12",
    suites: str = "",
    others: bool = False,
) -> ssl.SSLContext:
    """The TLS context of the server. Raises ssl.SSLError or OSError for an invalid certificate or key.

    With `authorities`, clients are asked for a certificate of one of these CAs. They need not send one, and it is
    verified only after the handshake. `oldest` is the minimum TLS version in kube-apiserver's notation. `suites` are
    the TLS 1.2 ciphers in OpenSSL's notation; "" means OpenSSL's default. `others`: there are more CAs, which are not
    known here. Then clients are not told which CAs there are, so that each shows the certificate that it has.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3 if oldest == "VersionTLS13" else ssl.TLSVersion.TLSv1_2
    if suites:
        context.set_ciphers(suites)
    context.set_alpn_protocols(["http/1.1"])
    context.num_tickets = 1  # as in Go; OpenSSL's default is two for each connection
    context.load_cert_chain(certificate, key)
    for path in authorities:
        context.load_verify_locations(path)
    if authorities and not others:
        name_authorities(context)
    if authorities or others:
        context.verify_mode = ssl.CERT_OPTIONAL
        judge_later(context)
        require_named_curves(context)
    return context


def context_of(settings: Settings, certificate: Path, key: Path) -> ssl.SSLContext:
    """The TLS context of the server by the settings, with the certificates of SNI names. Raises as `server_context`."""

    def made(certificate: Path, key: Path) -> ssl.SSLContext:
        suites = openssl_ciphers(settings.tls_cipher_suites)
        oldest, others = settings.tls_min_version, settings.control_planes
        return server_context(certificate, key, authorities_of(settings), oldest, suites, others)

    context = made(certificate, key)
    if settings.tls_sni_cert_key:
        others = ((pair, made(pair.certificate, pair.key)) for pair in settings.tls_sni_cert_key)
        choose_by_name(context, by_name(others))
    return context
