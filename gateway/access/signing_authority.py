"""A CA that signs certificate requests, by the policy of kube-controller-manager's signers."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from gateway.settings.config import Settings

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric.types import CertificateIssuerPrivateKeyTypes

BACKDATE = timedelta(minutes=5)  # how far notBefore is in the past, since clocks of clients may be behind
SHORT = timedelta(hours=8)  # the lifetime of shorter certificates counts from now; of longer ones, from notBefore
SHORTEST = timedelta(minutes=10)
_USAGES = {
    "signing": "digital_signature",
    "digital signature": "digital_signature",
    "content commitment": "content_commitment",
    "key encipherment": "key_encipherment",
    "key agreement": "key_agreement",
    "data encipherment": "data_encipherment",
    "cert sign": "key_cert_sign",
    "crl sign": "crl_sign",
    "encipher only": "encipher_only",
    "decipher only": "decipher_only",
}
_EXTENDED = {
    "any": "2.5.29.37.0",
    "server auth": "1.3.6.1.5.5.7.3.1",
    "client auth": "1.3.6.1.5.5.7.3.2",
    "code signing": "1.3.6.1.5.5.7.3.3",
    "email protection": "1.3.6.1.5.5.7.3.4",
    "s/mime": "1.3.6.1.5.5.7.3.4",
    "ipsec end system": "1.3.6.1.5.5.7.3.5",
    "ipsec tunnel": "1.3.6.1.5.5.7.3.6",
    "ipsec user": "1.3.6.1.5.5.7.3.7",
    "timestamping": "1.3.6.1.5.5.7.3.8",
    "ocsp signing": "1.3.6.1.5.5.7.3.9",
    "microsoft sgc": "1.3.6.1.4.1.311.10.3.3",
    "netscape sgc": "2.16.840.1.113730.4.1",
}
_COMMON_NAME, _SERIAL_NUMBER = "2.5.4.3", "2.5.4.5"
_SUBJECT = (  # country, organization, its unit, locality, province, street, postal code
    *("2.5.4.6", "2.5.4.10", "2.5.4.11", "2.5.4.7", "2.5.4.8", "2.5.4.9", "2.5.4.17"),
    *(_COMMON_NAME, _SERIAL_NUMBER),
)
_SINGLE = frozenset({_COMMON_NAME, _SERIAL_NUMBER})


class SigningError(Exception):
    """A request cannot be signed; the message says why."""


@dataclass(frozen=True, slots=True)
class SigningAuthority:
    """A CA's certificate and key."""

    certificate: x509.Certificate
    key: CertificateIssuerPrivateKeyTypes

    def sign(
        self, request: x509.CertificateSigningRequest, usages: Collection[str], lifetime: timedelta, now: datetime
    ) -> bytes:
        """Signs a request and returns the certificate in PEM. `usages` are the usages of a CSR's spec. Raises
        SigningError.
        """
        from cryptography import x509
        from cryptography.hazmat.primitives import serialization

        from gateway.certificate_reader import is_self_signed, public_key_of, subject_of

        try:
            key, subject = public_key_of(request) if is_self_signed(request) else None, subject_of(request)
        except ValueError:
            key = None
        if key is None:
            raise SigningError("unable to verify certificate request signature")
        ends = self.certificate.not_valid_after_utc
        if now >= ends:
            raise SigningError(f"refusing to sign a certificate that expired in the past: NotAfter={ends}")
        last = now + lifetime - (timedelta(0) if lifetime < SHORT else BACKDATE)
        builder = x509.CertificateBuilder(
            issuer_name=subject_of(self.certificate),
            subject_name=as_issued(subject),
            public_key=key,
            serial_number=x509.random_serial_number(),
            not_valid_before=now - BACKDATE,
            not_valid_after=min(last, ends),
        )
        for extension, critical in self._extensions(request, usages, alone=not as_issued(subject).rdns):
            builder = builder.add_extension(extension, critical)
        return builder.sign(self.key, _digest(self.key)).public_bytes(serialization.Encoding.PEM)

    def _extensions(
        self, request: x509.CertificateSigningRequest, usages: Collection[str], *, alone: bool
    ) -> list[tuple[x509.ExtensionType, bool]]:
        """The extensions, and whether each is critical. `alone` says that the certificate has no other names."""
        from cryptography import x509

        found: list[tuple[x509.ExtensionType, bool]] = []
        wanted = {_USAGES[usage] for usage in usages if usage in _USAGES}
        if "key_agreement" not in wanted:
            wanted -= {"encipher_only", "decipher_only"}  # RFC 5280 defines them only together with key_agreement
        if wanted:
            found.append((x509.KeyUsage(**{name: name in wanted for name in _USAGES.values()}), True))
        extended = dict.fromkeys(_EXTENDED[usage] for usage in sorted(usages) if usage in _EXTENDED)
        if extended:
            found.append((x509.ExtendedKeyUsage(map(x509.ObjectIdentifier, extended)), False))
        found.append((x509.BasicConstraints(ca=False, path_length=None), True))
        try:
            key = self.certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
            found.append((x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(key), False))
        except x509.ExtensionNotFound:
            pass
        if names := issued_names(request):
            found.append((x509.SubjectAlternativeName(names), alone))
        return found


def as_issued(subject: x509.Name) -> x509.Name:
    """A subject as kube-controller-manager's signers write it.

    It has the attribute types of Go's pkix.Name, in Go's order, with the attributes of one type together. Of common
    name and serial number only the last value is kept. Other types are left out.
    """
    from cryptography import x509

    found: list[x509.RelativeDistinguishedName] = []
    for dotted in _SUBJECT:
        values = [
            each
            for each in subject.get_attributes_for_oid(x509.ObjectIdentifier(dotted))
            if isinstance(each.value, str)
        ]
        if dotted in _SINGLE:
            values = values[-1:]
        if values := [each for each in dict.fromkeys(values) if each.value]:
            found.append(x509.RelativeDistinguishedName(values))
    return x509.Name(found)


def alternative_names(request: x509.CertificateSigningRequest) -> list[x509.GeneralName]:
    """The subject alternative names of a request."""
    from cryptography import x509

    try:
        return list(request.extensions.get_extension_for_class(x509.SubjectAlternativeName).value)
    except x509.ExtensionNotFound:
        return []


def issued_names(request: x509.CertificateSigningRequest) -> list[x509.GeneralName]:
    """The subject alternative names that signers copy to the certificate, in the order in which Go writes them."""
    from cryptography import x509

    kinds = (x509.DNSName, x509.RFC822Name, x509.IPAddress, x509.UniformResourceIdentifier)
    names = alternative_names(request)
    return [name for kind in kinds for name in names if isinstance(name, kind)]


def signing_files(settings: Settings) -> tuple[Path, Path] | None:
    """The certificate and key files of the signing CA: those of the flags, or of the server's own CA. None without a
    CA.
    """
    if settings.cluster_signing_cert_file and settings.cluster_signing_key_file:
        return settings.cluster_signing_cert_file, settings.cluster_signing_key_file
    own = settings.cert_dir / "ca.crt", settings.cert_dir / "ca.key"
    return own if settings.tls_cert_file is None and all(path.is_file() for path in own) else None


def signing_authority(settings: Settings) -> Callable[[], SigningAuthority] | None:
    """Reads the signing CA: that of a control plane below /clusters, else the one of `signing_files`. None without a
    CA. The call raises OSError, ValueError.
    """
    certificate, key = settings.client_authority.encode(), settings.client_authority_key.encode()
    if certificate and key:
        return lambda: load_authority(certificate, key)
    files = signing_files(settings)
    return None if files is None else lambda: read_authority(*files)


def read_authority(certificate: Path, key: Path) -> SigningAuthority:
    """Reads a CA from two PEM files. Raises OSError, ValueError."""
    return load_authority(certificate.read_bytes(), key.read_bytes(), str(certificate), str(key))


def load_authority(
    certificate: bytes, key: bytes, certificate_name: str = "the CA's certificate", key_name: str = "its key"
) -> SigningAuthority:
    """Parses a CA's certificate and key, in PEM; the names are for error messages. Raises ValueError."""
    from cryptography import x509
    from cryptography.hazmat.primitives import serialization

    try:
        found = x509.load_pem_x509_certificate(certificate)
        private: CertificateIssuerPrivateKeyTypes = serialization.load_pem_private_key(key, None)  # type: ignore[assignment]  # whatever a CA may sign with
    except TypeError:
        raise ValueError(f"{key_name}: the key is encrypted; give one that is not") from None
    if found.public_key() != private.public_key():
        raise ValueError(f"{certificate_name} and {key_name} don't belong together")
    return SigningAuthority(found, private)


def new_request(
    name: str, groups: Collection[str] = (), hosts: Collection[str] = ()
) -> tuple[x509.CertificateSigningRequest, bytes]:
    """A new key, in PEM, and a certificate request for it. `name` is the common name, `groups` the organizations,
    `hosts` the subject alternative names. The request comes first.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    subject = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    subject.append(x509.NameAttribute(NameOID.COMMON_NAME, name))
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(subject))
    if hosts:
        builder = builder.add_extension(x509.SubjectAlternativeName([*map(general_name, hosts)]), critical=False)
    request = builder.sign(key, hashes.SHA256())
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return request, private


def general_name(host: str) -> x509.GeneralName:
    """A host name or IP address as a subject alternative name."""
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def now() -> datetime:
    """The present time in UTC, without microseconds, which certificates cannot hold."""
    return datetime.now(UTC).replace(microsecond=0)


def _digest(key: CertificateIssuerPrivateKeyTypes) -> hashes.SHA256 | None:
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ed448, ed25519

    return None if isinstance(key, ed25519.Ed25519PrivateKey | ed448.Ed448PrivateKey) else hashes.SHA256()
