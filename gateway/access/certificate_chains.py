"""Verifies client certificates against a pool of CAs (RFC 5280, section 6; Go's x509.Verify with ClientAuth).

A path leads from the client's certificate, by the names of issuers, to a CA of the pool. Signatures are verified from
the CA downwards: a key that the client has chosen never verifies anything. The number of verifications is bounded. The
library cryptography parses certificates, verifies signatures, and checks name constraints if a CA on the path has any.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, ExtensionOID

from gateway.certificate_reader import public_key_of, subject_of
from gateway.memo import Recent

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

MOST_SENT = 16  # certificates that a client sends beside its own; more are ignored
MOST_ON_PATH = 8  # CAs
_MOST_SIGNATURES = 100  # verified for one certificate, as in Go
_MOST_REMEMBERED = 4096
_DIGEST = 100  # bytes of a digest and a time
_MOST_INTERMEDIATE = 256
_INTERMEDIATE = 2 << 20  # bytes of all intermediate CAs
_LEAST_RSA = 1024  # bits, as Go has it
_HASHES = (hashes.SHA256, hashes.SHA384, hashes.SHA512)
_USAGES = frozenset({ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE})
_UNDERSTOOD = frozenset(
    {
        ExtensionOID.AUTHORITY_KEY_IDENTIFIER,
        ExtensionOID.BASIC_CONSTRAINTS,
        ExtensionOID.CERTIFICATE_POLICIES,
        ExtensionOID.CRL_DISTRIBUTION_POINTS,
        ExtensionOID.EXTENDED_KEY_USAGE,
        ExtensionOID.KEY_USAGE,
        ExtensionOID.NAME_CONSTRAINTS,
        ExtensionOID.SUBJECT_ALTERNATIVE_NAME,
        ExtensionOID.SUBJECT_KEY_IDENTIFIER,
    }
)


@dataclass(frozen=True, slots=True, eq=False)
class _Facts:
    """The facts of a certificate that verification needs. `may_sign` says whether it is a CA; `path_length` is how many
    CAs may be below it; `constrained` says whether it has name constraints. Times are seconds since the epoch.
    """

    certificate: Certificate
    subject: bytes
    issuer: bytes
    since: float
    until: float
    may_sign: bool
    path_length: int
    constrained: bool

    @property
    def size(self) -> int:
        """The memory in bytes, roughly. The library keeps a certificate as DER, and parsed extensions."""
        return 4 * len(self.certificate.tbs_certificate_bytes)


class CertificatePool:
    """The CAs that clients' certificates may be signed by, and a cache of the intermediate CAs that were used."""

    def __init__(self, authorities: Iterable[Certificate]) -> None:
        self._roots = [facts for each in authorities if (facts := _facts(each, root=True)) is not None]
        self._own = {each.certificate.fingerprint(hashes.SHA256()) for each in self._roots}
        # until when, by digests of clients' certificates
        self._good: Recent[bytes, float] = Recent(_MOST_REMEMBERED, 2 << 20)
        # intermediate CAs are kept because a resumed TLS session has the client's own certificate only
        self._between: Recent[bytes, _Facts] = Recent(_MOST_INTERMEDIATE, _INTERMEDIATE)

    def good_until(self, certificates: Sequence[bytes]) -> float:
        """Until when the CAs' pool accepts a client's certificate, in seconds since the epoch; 0.0 if it does not.

        `certificates` are in DER: the client's own first, then the others that it has sent.
        """
        digest, now = sha256(certificates[0]).digest(), time.time()
        if now < (known := self._good.find(digest) or 0.0):
            return known
        found = self._judge(certificates, now)
        if found:
            self._good.keep(digest, found, _DIGEST)
        return found

    def _judge(self, certificates: Sequence[bytes], now: float) -> float:
        leaf = _read(certificates[0])
        if leaf is None or not leaf.since <= now <= leaf.until:
            return 0.0
        if leaf.certificate.fingerprint(hashes.SHA256()) in self._own:
            return leaf.until
        sent = [facts for each in certificates[1 : MOST_SENT + 1] if (facts := _read(each)) is not None]
        others = [*sent, *self._between.values()]
        path = _Search(self._roots, others, now).path(leaf, 0)
        if path is None:
            return 0.0
        if any(each.constrained for each in path) and not _names_are_allowed(leaf, path):
            return 0.0
        for each in path[:-1]:
            self._between.keep(each.certificate.fingerprint(hashes.SHA256()), each, each.size)
        return min(leaf.until, *(each.until for each in path))


class _Search:
    """Looks for a path from a client's certificate to one of the roots."""

    def __init__(self, roots: Sequence[_Facts], others: Sequence[_Facts], now: float) -> None:
        self._roots = _by_subject(roots, now)
        self._others = _by_subject(others, now)
        self._left = _MOST_SIGNATURES
        self._known: dict[tuple[_Facts, int], tuple[_Facts, ...] | None] = {}
        self._signed: dict[tuple[_Facts, _Facts], bool] = {}

    def path(self, of: _Facts, below: int) -> tuple[_Facts, ...] | None:
        """The CAs from the issuer of `of` up to a root; None without a path. `below` is how many CAs are below `of`.

        A path without name constraints is preferred.
        """
        place = of, below
        if place not in self._known:
            self._known[place] = self._look(of, below)
        return self._known[place]

    def _look(self, of: _Facts, below: int) -> tuple[_Facts, ...] | None:
        found: tuple[_Facts, ...] | None = None
        for issuer, is_root in self._issuers(of):
            if not issuer.may_sign or issuer.path_length < below:
                continue
            above = () if is_root else self.path(issuer, below + 1) if below + 1 < MOST_ON_PATH else None
            if above is None or not self._is_signed(of, issuer):
                continue
            path = (issuer, *above)
            if not any(each.constrained for each in path):
                return path
            found = found or path
        return found

    def _issuers(self, of: _Facts) -> Iterable[tuple[_Facts, bool]]:
        for each in self._roots.get(of.issuer, ()):
            yield each, True
        for each in self._others.get(of.issuer, ()):
            if each is not of:
                yield each, False

    def _is_signed(self, of: _Facts, issuer: _Facts) -> bool:
        """Whether the issuer, which is trusted already, has signed a certificate."""
        place = of, issuer
        if place not in self._signed:
            if not self._left:
                return False
            self._left -= 1
            self._signed[place] = _has_issued(issuer.certificate, of.certificate)
        return self._signed[place]


def _by_subject(found: Iterable[_Facts], now: float) -> dict[bytes, list[_Facts]]:
    """The certificates that are valid at `now`, by the DER of their subjects."""
    named: dict[bytes, list[_Facts]] = {}
    for each in found:
        if each.since <= now <= each.until:
            named.setdefault(each.subject, []).append(each)
    return named


def _read(der: bytes) -> _Facts | None:
    try:
        return _facts(x509.load_der_x509_certificate(der))
    except Exception:  # as below
        return None


def _facts(certificate: Certificate, root: bool = False) -> _Facts | None:
    """The facts of a certificate; None if it cannot be read, is not for clients, or has unsupported extensions."""
    try:
        extensions: dict[Any, Any] = {each.oid: each for each in certificate.extensions}
        understood = all(each.oid in _UNDERSTOOD for each in extensions.values() if each.critical)
        usages = extensions.get(ExtensionOID.EXTENDED_KEY_USAGE)
        meant_for_clients = usages is None or any(each in _USAGES for each in usages.value)
        if not understood or not meant_for_clients or ExtensionOID.POLICY_CONSTRAINTS in extensions:
            return None
        may_sign, path_length = _signing(certificate, extensions, root)
        return _Facts(
            certificate,
            subject_of(certificate).public_bytes(),
            certificate.issuer.public_bytes(),
            _seconds(certificate.not_valid_before_utc),
            _seconds(certificate.not_valid_after_utc),
            may_sign,
            path_length,
            ExtensionOID.NAME_CONSTRAINTS in extensions,
        )
    except Exception:  # invalid or duplicate extensions raise errors of many kinds
        return None


def _signing(certificate: Certificate, extensions: dict[Any, Any], root: bool) -> tuple[bool, int]:
    """Whether a certificate may sign others, and how many CAs may be below it."""
    key, usage = public_key_of(certificate), extensions.get(ExtensionOID.KEY_USAGE)
    strong = isinstance(key, ec.EllipticCurvePublicKey | ed25519.Ed25519PublicKey) or (
        isinstance(key, rsa.RSAPublicKey) and key.key_size >= _LEAST_RSA
    )
    if not strong or (usage is not None and not usage.value.key_cert_sign):
        return False, 0
    constraints = extensions.get(ExtensionOID.BASIC_CONSTRAINTS)
    if constraints is None:
        return root and certificate.version is x509.Version.v1, MOST_ON_PATH
    length = constraints.value.path_length
    return constraints.value.ca, MOST_ON_PATH if length is None else length


def _has_issued(issuer: Certificate, certificate: Certificate) -> bool:
    try:
        used = certificate.signature_hash_algorithm
        if used is not None and not isinstance(used, _HASHES):
            return False
        certificate.verify_directly_issued_by(issuer)
    except Exception:  # keys and signatures that do not match raise errors of many kinds
        return False
    return True


def _names_are_allowed(leaf: _Facts, path: Sequence[_Facts]) -> bool:
    """Whether the library cryptography finds that the names on a path meet the name constraints of its CAs."""
    from cryptography.x509.verification import Criticality, ExtensionPolicy, PolicyBuilder, Store, VerificationError

    of_clients = ExtensionPolicy.permit_all()
    of_authorities = ExtensionPolicy.permit_all().require_present(x509.BasicConstraints, Criticality.AGNOSTIC, None)
    verifier = (
        PolicyBuilder()
        .store(Store([path[-1].certificate]))
        .extension_policies(ee_policy=of_clients, ca_policy=of_authorities)
        .build_client_verifier()
    )
    try:
        verifier.verify(leaf.certificate, [each.certificate for each in path[:-1]])
    except VerificationError:
        return False
    return True


def _seconds(moment: datetime) -> float:
    return moment.astimezone(UTC).timestamp()
