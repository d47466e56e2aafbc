"""Reads certificates and certificate requests that clients send, of at most `LARGEST` bytes. Every error is raised as
ValueError.

The cryptography package raises other exceptions too: for an unknown version, a duplicate extension, or an unknown type
of name or key.

The algorithm of a key is looked at before the key is parsed. For a Diffie-Hellman key the library tests whether two
numbers that the client chose are prime, and holds the GIL: 0.2 s for 2048 bits, and eight times as long for twice as
many.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.types import CertificatePublicKeyTypes
from cryptography.x509.oid import PublicKeyAlgorithmOID, SignatureAlgorithmOID

from gateway.pem import blocks

T = TypeVar("T")

REQUEST = "CERTIFICATE REQUEST"

# Bytes in DER. The library makes a Python object of each name: 900 kB of the shortest names took 120 ms, and 330 ms to
# sign.
LARGEST = 64 << 10

ALGORITHMS = frozenset(
    {PublicKeyAlgorithmOID.RSAES_PKCS1_v1_5, PublicKeyAlgorithmOID.EC_PUBLIC_KEY, PublicKeyAlgorithmOID.ED25519}
)
"""The algorithms of keys whose signatures Go's crypto/x509 verifies. No other key is parsed."""

_FAMILIES: Mapping[x509.ObjectIdentifier, str] = {
    **dict.fromkeys(
        (
            SignatureAlgorithmOID.RSA_WITH_SHA1,
            SignatureAlgorithmOID.RSA_WITH_SHA256,
            SignatureAlgorithmOID.RSA_WITH_SHA384,
            SignatureAlgorithmOID.RSA_WITH_SHA512,
            SignatureAlgorithmOID.RSASSA_PSS,
        ),
        "RSA",
    ),
    **dict.fromkeys(
        (
            SignatureAlgorithmOID.ECDSA_WITH_SHA1,
            SignatureAlgorithmOID.ECDSA_WITH_SHA256,
            SignatureAlgorithmOID.ECDSA_WITH_SHA384,
            SignatureAlgorithmOID.ECDSA_WITH_SHA512,
        ),
        "ECDSA",
    ),
    SignatureAlgorithmOID.ED25519: "Ed25519",
}
"""The families of the algorithms of signatures that Go's crypto/x509 verifies. PSS needs a hash of `_SHA2`."""

_KEYS = {"RSA": rsa.RSAPublicKey, "ECDSA": ec.EllipticCurvePublicKey, "Ed25519": ed25519.Ed25519PublicKey}
_SHA2 = (hashes.SHA256, hashes.SHA384, hashes.SHA512)
_CURVES = (ec.SECP224R1, ec.SECP256R1, ec.SECP384R1, ec.SECP521R1)  # that Go's crypto/x509 reads
_INSECURE = "crypto/rsa: {bits}-bit keys are insecure (see https://go.dev/pkg/crypto/rsa#hdr-Minimum_key_size)"
_LEAST_RSA = 1024  # bits: Go's crypto/rsa verifies no signature of a shorter key

Signed = x509.Certificate | x509.CertificateSigningRequest


class TooLong(ValueError):
    """A certificate or request has more than `LARGEST` bytes."""


class UnsupportedKey(ValueError):
    """A certificate or request has a key of an algorithm that is not in `ALGORITHMS`."""


class UnsupportedCurve(ValueError):
    """A certificate or request has a key on an elliptic curve that Go's crypto/x509 does not read."""


def certificate_of(der: bytes) -> x509.Certificate:
    """Reads a certificate in DER. Raises ValueError."""
    return _read(der, x509.load_der_x509_certificate)


def certificate_of_pem(pem: bytes) -> x509.Certificate:
    """Reads the first PEM block, which must be a certificate. Raises ValueError."""
    return certificate_of(_first(pem, "CERTIFICATE"))


def request_of(der: bytes) -> x509.CertificateSigningRequest:
    """Reads a certificate request in DER. Raises ValueError."""
    return _read(der, x509.load_der_x509_csr)


def request_of_pem(pem: bytes) -> x509.CertificateSigningRequest:
    """Reads the first PEM block, which must be a certificate request. Raises ValueError.

    Validation, approval and signing use this one reader, so that all of them see the same request.
    """
    return request_of(_first(pem, REQUEST))


def extensions_of(read: Signed) -> x509.Extensions:
    """The extensions. They are parsed here, not when the certificate is read. Raises ValueError."""
    return _tried(lambda: read.extensions)


def subject_of(read: Signed) -> x509.Name:
    """The subject. It is parsed here, not when the certificate is read. Raises ValueError.

    The library refuses types of strings that X.509 does not use for names, with errors of several kinds.
    """
    return _tried(lambda: read.subject)


def public_key_of(read: Signed) -> CertificatePublicKeyTypes:
    """The public key. It is parsed here, not when the certificate is read. Raises UnsupportedKey, UnsupportedCurve,
    ValueError.
    """
    _require_known(read)
    key = _tried(read.public_key)
    if isinstance(key, ec.EllipticCurvePublicKey) and not isinstance(key.curve, _CURVES):
        raise UnsupportedCurve("x509: unsupported elliptic curve")
    return key


def is_self_signed(request: x509.CertificateSigningRequest) -> bool:
    """Whether a request is signed by its own key. Raises UnsupportedKey, also for the algorithm of the signature, and
    ValueError.
    """
    return not signature_problem(request)


def signature_problem(request: x509.CertificateSigningRequest) -> str:
    """Why the signature of a request is not one by its own key, in the words of Go's crypto/x509; "" if it is.

    As there, SHA-1 is good enough, which `is_signature_valid` of the library refuses. Raises UnsupportedKey, also for
    the algorithm of the signature, UnsupportedCurve and ValueError.
    """
    key, algorithm = public_key_of(request), request.signature_algorithm_oid
    if algorithm == SignatureAlgorithmOID.RSA_WITH_MD5:
        return "x509: cannot verify signature: insecure algorithm MD5-RSA"
    family = _FAMILIES.get(algorithm)
    hashed = None if family is None or family == "Ed25519" else _tried(lambda: request.signature_hash_algorithm)
    if family is None or (algorithm == SignatureAlgorithmOID.RSASSA_PSS and not isinstance(hashed, _SHA2)):
        raise UnsupportedKey("x509: unsupported algorithm of a signature")
    if not isinstance(key, _KEYS[family]):
        return (
            f"x509: signature algorithm specifies an {family} public key, but have public key of type {_go_type(key)}"
        )
    if isinstance(key, rsa.RSAPublicKey) and key.key_size < _LEAST_RSA:
        return _INSECURE.format(bits=key.key_size)
    try:
        _verify(request, key, hashed, pss=algorithm == SignatureAlgorithmOID.RSASSA_PSS)
    except InvalidSignature:
        return "crypto/rsa: verification error" if family == "RSA" else f"x509: {family} verification failure"
    except UnsupportedAlgorithm as error:
        raise UnsupportedKey(str(error)) from None
    return ""


def _verify(
    request: x509.CertificateSigningRequest,
    key: CertificatePublicKeyTypes,
    hashed: hashes.HashAlgorithm | None,
    *,
    pss: bool,
) -> None:
    """Raises InvalidSignature and UnsupportedAlgorithm. Without `hashed`, the key is one of Ed25519."""
    signature, signed = request.signature, request.tbs_certrequest_bytes
    if isinstance(key, rsa.RSAPublicKey) and hashed is not None:
        pad = padding.PSS(padding.MGF1(hashed), hashed.digest_size) if pss else padding.PKCS1v15()
        key.verify(signature, signed, pad, hashed)
    elif isinstance(key, ec.EllipticCurvePublicKey) and hashed is not None:
        key.verify(signature, signed, ec.ECDSA(hashed))
    elif isinstance(key, ed25519.Ed25519PublicKey):
        key.verify(signature, signed)


def _go_type(key: CertificatePublicKeyTypes) -> str:
    if isinstance(key, rsa.RSAPublicKey):
        return "*rsa.PublicKey"
    return "*ecdsa.PublicKey" if isinstance(key, ec.EllipticCurvePublicKey) else "ed25519.PublicKey"


def _require_known(read: Signed) -> None:
    if read.public_key_algorithm_oid not in ALGORITHMS:  # type: ignore[union-attr]  # the library's stub lacks it
        raise UnsupportedKey("x509: unsupported algorithm of a public key")


def _first(pem: bytes, kind: str) -> bytes:
    block = next(blocks(pem), None)
    if block is None or block.kind != kind:
        raise ValueError(f"PEM block type must be {kind}")
    return block.content


def _read(der: bytes, read: Callable[[bytes], T]) -> T:
    if len(der) > LARGEST:
        raise TooLong(f"x509: it has more than {LARGEST} bytes")
    return _tried(lambda: read(der))


def _tried(read: Callable[[], T]) -> T:
    try:
        return read()
    except Exception as error:
        raise ValueError(str(error) or type(error).__name__) from None
