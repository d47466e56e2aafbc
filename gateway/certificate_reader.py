"""The reader of certificates and certificate requests that clients send: whatever is wrong with one is a ValueError.

The cryptography package has errors of its own that are none: for an unknown version, an extension that comes twice, a
name or a key of a sort that it does not know.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.types import CertificatePublicKeyTypes

from gateway.pem import blocks

T = TypeVar("T")

REQUEST = "CERTIFICATE REQUEST"


def certificate_of(der: bytes) -> x509.Certificate:
    """A certificate in DER. Raises ValueError."""
    return _read(lambda: x509.load_der_x509_certificate(der))


def certificate_of_pem(pem: bytes) -> x509.Certificate:
    """The first block of a text in PEM, which is a certificate. Raises ValueError."""
    return certificate_of(_first(pem, "CERTIFICATE"))


def request_of(der: bytes) -> x509.CertificateSigningRequest:
    """A certificate request in DER. Raises ValueError."""
    return _read(lambda: x509.load_der_x509_csr(der))


def request_of_pem(pem: bytes) -> x509.CertificateSigningRequest:
    """The first block of a text in PEM, which is a certificate request. Raises ValueError.

    Validation, approval and signing use this one reader, so that all of them see the same request.
    """
    return request_of(_first(pem, REQUEST))


def extensions_of(read: x509.Certificate | x509.CertificateSigningRequest) -> x509.Extensions:
    """The extensions, which are read only now. Raises ValueError."""
    return _read(lambda: read.extensions)


def public_key_of(certificate: x509.Certificate) -> CertificatePublicKeyTypes:
    """The key, which is read only now. Raises ValueError."""
    return _read(certificate.public_key)


def _first(pem: bytes, kind: str) -> bytes:
    block = next(blocks(pem), None)
    if block is None or block.kind != kind:
        raise ValueError(f"PEM block type must be {kind}")
    return block.content


def _read(read: Callable[[], T]) -> T:
    try:
        return read()
    except Exception as error:
        raise ValueError(str(error) or type(error).__name__) from None
