"""The ciphers whose keys are in the configuration: AES-CBC with PKCS#7, AES-GCM, and NaCl's secretbox."""

from __future__ import annotations

import os
from typing import Any

from gateway.encryption.provider import CannotDecrypt, Decrypted

BLOCK, NONCE, TAG = 16, 12, 16
SECRETBOX_NONCE, SECRETBOX_OVERHEAD = 24, 16
_SHORT = "the stored data was shorter than the required size"


class AesCbc:
    """AES-CBC: a random initialization vector, then the padded value. The stored bytes are not authenticated."""

    def __init__(self, name: str, secret: bytes) -> None:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        self.prefix = f"{name}:".encode()
        self._cipher, self._mode, self._key = Cipher, modes.CBC, algorithms.AES(secret)

    async def encrypt(self, data: bytes, key: bytes) -> bytes:
        vector, pad = os.urandom(BLOCK), BLOCK - len(data) % BLOCK
        encryptor = self._cipher(self._key, self._mode(vector)).encryptor()
        return vector + encryptor.update(data + bytes([pad]) * pad) + encryptor.finalize()

    async def decrypt(self, data: bytes, key: bytes) -> Decrypted:
        if len(data) < BLOCK:
            raise CannotDecrypt(_SHORT)
        if len(data) % BLOCK:
            raise CannotDecrypt("the stored data is not a multiple of the block size")
        decryptor = self._cipher(self._key, self._mode(data[:BLOCK])).decryptor()
        padded = decryptor.update(data[BLOCK:]) + decryptor.finalize()
        pad = padded[-1] if padded else 0
        if not 0 < pad <= len(padded):
            raise CannotDecrypt("invalid PKCS7 data (empty or not padded)")
        if padded[-pad:] != bytes([pad]) * pad:
            raise CannotDecrypt("invalid padding on input")
        return Decrypted(padded[:-pad], False)


class AesGcm:
    """AES-GCM: a random nonce, then the value, authenticated together with its etcd key."""

    def __init__(self, name: str, secret: bytes) -> None:
        self.prefix = f"{name}:".encode()
        self._cipher = _gcm(secret)

    async def encrypt(self, data: bytes, key: bytes) -> bytes:
        return sealed(self._cipher, data, key)

    async def decrypt(self, data: bytes, key: bytes) -> Decrypted:
        return Decrypted(opened(self._cipher, data, key), False)


class Secretbox:
    """XSalsa20 and Poly1305: a random nonce, then the value, authenticated without its etcd key."""

    def __init__(self, name: str, secret: bytes) -> None:
        from nacl.secret import SecretBox

        self.prefix = f"{name}:".encode()
        self._box = SecretBox(secret)

    async def encrypt(self, data: bytes, key: bytes) -> bytes:
        return bytes(self._box.encrypt(data, os.urandom(SECRETBOX_NONCE)))

    async def decrypt(self, data: bytes, key: bytes) -> Decrypted:
        from nacl.exceptions import CryptoError

        if len(data) < SECRETBOX_NONCE + SECRETBOX_OVERHEAD:
            raise CannotDecrypt(_SHORT)
        try:
            return Decrypted(self._box.decrypt(data), False)
        except CryptoError:
            raise CannotDecrypt("output array was not large enough for encryption") from None


def _gcm(secret: bytes) -> Any:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM(secret)


def sealed(cipher: Any, data: bytes, key: bytes) -> bytes:
    """A random nonce and the value, encrypted with AES-GCM; `key` is the etcd key, which is authenticated too."""
    nonce = os.urandom(NONCE)
    return nonce + bytes(cipher.encrypt(nonce, data, key))


def opened(cipher: Any, data: bytes, key: bytes) -> bytes:
    """The value from the bytes of `sealed`. Raises CannotDecrypt."""
    from cryptography.exceptions import InvalidTag

    if len(data) < NONCE:
        raise CannotDecrypt(_SHORT)
    try:
        return bytes(cipher.decrypt(data[:NONCE], data[NONCE:], key))
    except (InvalidTag, ValueError):
        raise CannotDecrypt("cipher: message authentication failed") from None
