"""Reads private keys that clients send, as Go's crypto/tls does: in PKCS #1, PKCS #8 or SEC 1.

The cryptography package tests whether the factors of an RSA key are prime, and computes the public half of a DSA or
Diffie-Hellman key. Both hold the GIL, for seconds with numbers of 16 384 bits that a client chose. So the length and
the algorithm are looked at first, and of an RSA key only what Go's rsa.Validate demands: that is a matter of
microseconds.
"""

from __future__ import annotations

import re
from base64 import encodebytes

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import load_pem_private_key

LARGEST = 16 << 10  # bytes in DER: an RSA key of 16 384 bits, the most that OpenSSL verifies with, has 9 300
_LABELS = ("RSA PRIVATE KEY", "PRIVATE KEY", "EC PRIVATE KEY")  # in Go's order; Go ignores the text's own label
_ALGORITHM = rb"\x06(?:\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01|\x07\x2a\x86\x48\xce\x3d\x02\x01|\x03\x2b\x65\x70)"
_LENGTH = rb"(?:[\x00-\x7f]|\x81.|\x82..)"
_known_in_pkcs8 = re.compile(rb"\x30" + _LENGTH + rb"\x02\x01.\x30" + _LENGTH + _ALGORITHM, re.DOTALL).match
"""The beginning of PKCS #8 with a key of RSA, of an elliptic curve, or Ed25519."""

PublicHalf = rsa.RSAPublicKey | ec.EllipticCurvePublicKey | ed25519.Ed25519PublicKey


def public_half(der: bytes) -> PublicHalf:
    """The public key of a private key in DER. Raises ValueError for a key that Go's crypto/tls does not read, and for
    one of more than `LARGEST` bytes.
    """
    if len(der) > LARGEST:
        raise ValueError(f"the private key has more than {LARGEST} bytes")
    for label in _LABELS:
        if label == "PRIVATE KEY" and not _known_in_pkcs8(der):
            continue
        try:
            private = load_pem_private_key(_pem(der, label), None, unsafe_skip_rsa_key_validation=True)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            continue
        if isinstance(private, rsa.RSAPrivateKey):
            _check(private.private_numbers())
            return private.public_key()
        if isinstance(private, ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey):
            return private.public_key()
    raise ValueError("the private key cannot be parsed")


def _check(numbers: rsa.RSAPrivateNumbers) -> None:
    """Raises ValueError for an RSA key that contradicts itself."""
    p, q, d, public = numbers.p, numbers.q, numbers.d, numbers.public_numbers
    whole = p > 1 and q > 1 and p * q == public.n and d < public.n
    if not whole or any(d * public.e % (factor - 1) != 1 for factor in (p, q)):
        raise ValueError("the numbers of the RSA key contradict each other")


def _pem(der: bytes, label: str) -> bytes:
    return b"-----BEGIN %b-----\n%b-----END %b-----\n" % (label.encode(), encodebytes(der), label.encode())
