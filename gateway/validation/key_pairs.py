"""Checks whether a certificate and a private key belong together. Messages are those of Go's crypto/tls."""

from __future__ import annotations

from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from gateway.certificate_reader import certificate_of, public_key_of
from gateway.pem import blocks
from gateway.validation.private_keys import public_half


def key_pair_problem(certificate: bytes, key: bytes) -> str:
    """The reason that a TLS server cannot use a certificate and a key, both in PEM; "" if it can."""
    found = list(blocks(certificate))
    chain = [block.content for block in found if block.kind == "CERTIFICATE"]
    if not chain:
        if not found:
            return "tls: failed to find any PEM data in certificate input"
        kinds = " ".join(block.kind for block in found)
        if len(found) == 1 and found[0].kind.endswith("PRIVATE KEY"):
            return (
                "tls: failed to find certificate PEM data in certificate input, but did find a private key; "
                "PEM inputs may have been switched"
            )
        text = 'tls: failed to find "CERTIFICATE" PEM block in certificate input'
        return f"{text} after skipping PEM blocks of the following types: [{kinds}]"
    keys = list(blocks(key))
    private = [block.content for block in keys if block.kind.endswith("PRIVATE KEY")]
    if not private:
        if not keys:
            return "tls: failed to find any PEM data in key input"
        if len(keys) == 1 and keys[0].kind == "CERTIFICATE":
            return "tls: found a certificate rather than a key in the PEM for the private key"
        kinds = " ".join(block.kind for block in keys)
        text = 'tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input'
        return f"{text} after skipping PEM blocks of the following types: [{kinds}]"
    return _mismatch(chain[0], private[0])


def _mismatch(certificate: bytes, key: bytes) -> str:
    try:
        public = public_key_of(certificate_of(certificate))
    except ValueError:
        return "x509: malformed certificate"
    try:
        half = public_half(key)
    except ValueError:
        return "tls: failed to parse private key"
    form = (Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    same = public.public_bytes(*form) == half.public_bytes(*form)
    return "" if same else "tls: private key does not match public key"
