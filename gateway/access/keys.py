"""The keys of service account tokens: one to sign with, several to verify with."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from gateway.files import create_file
from gateway.jsontypes import JsonObject
from gateway.pem import blocks
from gateway.settings.config import Settings

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey, EllipticCurvePublicKey
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey

    PrivateKey = RSAPrivateKey | EllipticCurvePrivateKey
    PublicKey = RSAPublicKey | EllipticCurvePublicKey

KEY_FILE = "service-account.key"  # in --cert-dir

_CURVES = {256: ("ES256", "P-256"), 384: ("ES384", "P-384"), 521: ("ES512", "P-521")}
_PRIVATE = frozenset({"PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY"})


@dataclass(frozen=True, slots=True)
class VerificationKey:
    """A public key, and the key id (`kid`) by which tokens name it."""

    identity: str
    key: PublicKey

    @property
    def algorithm(self) -> str:
        """The JWS algorithm that its tokens are signed with."""
        bits = self.key.key_size
        return _CURVES[bits][0] if hasattr(self.key, "curve") else "RS256"

    def jwk(self) -> JsonObject:
        """The key as a JSON web key (RFC 7517)."""
        from cryptography.hazmat.primitives.asymmetric import rsa

        use: JsonObject = {"use": "sig"}
        named: JsonObject = {"kid": self.identity, "alg": self.algorithm}
        if isinstance(self.key, rsa.RSAPublicKey):
            numbers = self.key.public_numbers()
            return {**use, "kty": "RSA", **named, "n": _number(numbers.n), "e": _number(numbers.e)}
        point, size = self.key.public_numbers(), (self.key.key_size + 7) // 8
        curve = _CURVES[self.key.key_size][1]
        return {**use, "kty": "EC", **named, "crv": curve, "x": _number(point.x, size), "y": _number(point.y, size)}


@dataclass(frozen=True, slots=True)
class SigningKey:
    """The private key, and its public key."""

    key: PrivateKey
    public: VerificationKey


def signing_key(settings: Settings) -> SigningKey:
    """The key of --service-account-signing-key-file; without the flag, a key in --cert-dir, made on first use. A
    control plane below /clusters has its key in its settings.

    Raises OSError, ValueError and TypeError.
    """
    if settings.service_account_key:
        return _key_of(settings.service_account_key)
    path = settings.service_account_signing_key_file
    return _signing_key(path or settings.cert_dir / KEY_FILE, path is None)


def verification_keys(settings: Settings) -> list[VerificationKey]:
    """The keys of --service-account-key-file; without the flag, the signing key's. Raises OSError, ValueError."""
    files: Sequence[Path] = settings.service_account_key_file
    if not files:
        return [signing_key(settings).public]
    return [key for path in files for key in read_keys(path)]


@cache
def _signing_key(path: Path, may_make: bool) -> SigningKey:
    if may_make and not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        create_file(path, new_key())  # if another process makes a key at the same time, the first file stays
    return _of_pem(path.read_bytes(), path)


@lru_cache(256)
def _key_of(pem: str) -> SigningKey:
    return _of_pem(pem.encode(), "the key of a control plane")


def _of_pem(pem: bytes, place: object) -> SigningKey:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec, rsa

    key = serialization.load_pem_private_key(pem, None)
    if not isinstance(key, rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey):
        raise ValueError(f"{place}: service account tokens are signed with RSA or ECDSA keys")
    return SigningKey(key, _verification_key(place, key.public_key()))


def read_keys(path: Path) -> list[VerificationKey]:
    """The public keys of all keys and certificates in a PEM file. Raises OSError, ValueError."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.x509 import load_pem_x509_certificate

    found = []
    for block in blocks(path.read_bytes()):
        text, what = block.whole + b"\n", block.kind
        if what in _PRIVATE:
            found.append(_verification_key(path, serialization.load_pem_private_key(text, None).public_key()))
        elif what == "CERTIFICATE":
            found.append(_verification_key(path, load_pem_x509_certificate(text).public_key()))
        elif what.endswith("PUBLIC KEY"):
            found.append(_verification_key(path, serialization.load_pem_public_key(text)))
    if not found:
        raise ValueError(f"{path}: there is no key in PEM in it")
    return found


def _verification_key(place: object, key: object) -> VerificationKey:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec, rsa

    if not isinstance(key, rsa.RSAPublicKey | ec.EllipticCurvePublicKey):
        raise ValueError(f"{place}: service account tokens are signed with RSA or ECDSA keys")
    if isinstance(key, ec.EllipticCurvePublicKey) and key.key_size not in _CURVES:
        raise ValueError(f"{place}: ECDSA keys are of the curves P-256, P-384 and P-521")
    encoding, form = serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    return VerificationKey(_base64(sha256(key.public_bytes(encoding, form)).digest()), key)


def new_key() -> bytes:
    """A new private key to sign tokens with, in PEM."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _number(value: int, size: int = 0) -> str:
    return _base64(value.to_bytes(size or (value.bit_length() + 7) // 8, "big"))


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
