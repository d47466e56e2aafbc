"""Service account tokens: JSON web tokens (RFC 7519) signed with the server's own key."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from gateway.config import Settings
from gateway.files import create_file
from gateway.jsontypes import JsonObject, dumps

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

    SigningKey = RSAPrivateKey | EllipticCurvePrivateKey

KEY_FILE = "service-account.key"  # in --cert-dir

_HASHES = {256: "SHA256", 384: "SHA384", 521: "SHA512"}
_ALGORITHMS = {256: "ES256", 384: "ES384", 521: "ES512"}


@dataclass(frozen=True, slots=True)
class Signer:
    """Signs claims in the name of an issuer."""

    issuer: str
    key: SigningKey
    header: bytes

    def sign(self, claims: JsonObject) -> str:
        """The token: header, claims and signature, each in base64url."""
        payload = self.header + b"." + _encode(dumps(claims))
        return (payload + b"." + _encode(_signature(self.key, payload))).decode()


def signer_of(settings: Settings) -> Signer:
    """The signer that the settings ask for; without a key file, one with a key kept beside the certificates."""
    path = settings.service_account_signing_key_file or settings.cert_dir / KEY_FILE
    return _signer(settings.service_account_issuer, path, settings.service_account_signing_key_file is None)


@cache
def _signer(issuer: str, path: Path, may_make: bool) -> Signer:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec, rsa

    if may_make and not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        create_file(path, new_key())  # when another process makes one at the same time, the first stays
    key = serialization.load_pem_private_key(path.read_bytes(), None)
    if not isinstance(key, rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey):
        raise ValueError(f"{path}: service account tokens are signed with RSA or ECDSA keys")
    encoding, form = serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    identity = _encode(sha256(key.public_key().public_bytes(encoding, form)).digest()).decode()
    algorithm = "RS256" if isinstance(key, rsa.RSAPrivateKey) else _ALGORITHMS[key.curve.key_size]
    return Signer(issuer, key, _encode(dumps({"alg": algorithm, "kid": identity})))


def new_key() -> bytes:
    """A private key to sign tokens with, PEM."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _signature(key: SigningKey, payload: bytes) -> bytes:
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
    from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

    if isinstance(key, rsa.RSAPrivateKey):
        return key.sign(payload, padding.PKCS1v15(), hashes.SHA256())
    bits = key.curve.key_size
    size = (bits + 7) // 8
    digest: hashes.HashAlgorithm = getattr(hashes, _HASHES[bits])()
    r, s = decode_dss_signature(key.sign(payload, ec.ECDSA(digest)))
    return r.to_bytes(size, "big") + s.to_bytes(size, "big")


def _encode(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")
