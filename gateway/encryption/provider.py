"""The interface of an encryption provider, and the choice among several by the prefix of a value."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from gateway.encryption import metrics

ENCRYPTED = b"k8s:enc:"


class CannotDecrypt(ValueError):
    """A value can't be decrypted, now or ever; the message is kube-apiserver's."""


class CannotEncrypt(ValueError):
    """A value can't be encrypted at present."""


class Decrypted(NamedTuple):
    """A decrypted value. `stale`: it was not encrypted with the first provider and key, and needs a rewrite."""

    value: bytes
    stale: bool


class Provider(Protocol):
    """Encrypts and decrypts the bytes after `prefix`. `key` is the etcd key; some providers authenticate it too."""

    prefix: bytes

    async def encrypt(self, data: bytes, key: bytes) -> bytes:
        """Returns the encrypted bytes, without the prefix. Raises CannotEncrypt."""
        ...

    async def decrypt(self, data: bytes, key: bytes) -> Decrypted:
        """Decrypts bytes without the prefix. Raises CannotDecrypt, and Unavailable if a later attempt may succeed."""
        ...


class IdentityTransformer:
    """The provider `identity`: leaves values as they are, and refuses to read encrypted ones."""

    prefix = b""

    async def encrypt(self, data: bytes, key: bytes) -> bytes:
        return data

    async def decrypt(self, data: bytes, key: bytes) -> Decrypted:
        if data.startswith(ENCRYPTED):
            raise CannotDecrypt("identity transformer tried to read encrypted data")
        return Decrypted(data, False)


class KeyedProvider:
    """A provider with several named keys. The first key encrypts. Each value begins with the name of its key."""

    def __init__(self, prefix: bytes, keys: Sequence[Provider], unknown: str) -> None:
        self.prefix, self._keys, self._unknown = prefix, keys, unknown

    async def encrypt(self, data: bytes, key: bytes) -> bytes:
        first = self._keys[0]
        return first.prefix + await first.encrypt(data, key)

    async def decrypt(self, data: bytes, key: bytes) -> Decrypted:
        return await decrypted_by(self._keys, data, key, self._unknown)


async def decrypted_by(providers: Sequence[Provider], data: bytes, key: bytes, unknown: str) -> Decrypted:
    """Decrypts a value with the first provider that can. If that is not the first one, the value is stale.

    Raises CannotDecrypt with the reasons of all providers whose prefix the value has; `unknown` if there is none.
    """
    reasons: list[str] = []
    for index, provider in enumerate(providers):
        if not data.startswith(provider.prefix):
            continue
        try:
            value, stale = await provider.decrypt(data[len(provider.prefix) :], key)
        except CannotDecrypt as error:
            if provider.prefix and str(error) not in reasons:
                reasons.append(str(error))
            continue
        return Decrypted(value, stale or index > 0)
    if not reasons:
        raise CannotDecrypt(unknown)
    raise CannotDecrypt(reasons[0] if len(reasons) == 1 else f"[{', '.join(reasons)}]")


class ProviderChain:
    """The providers of a resource: the first one encrypts, all decrypt. `resource` is its name in metrics."""

    def __init__(self, resource: str, providers: Sequence[Provider]) -> None:
        self._providers, self._resource = providers, resource

    async def encrypt(self, data: bytes, key: bytes) -> bytes:
        """The value for etcd, with the prefix of its provider. Raises CannotEncrypt."""
        first, began = self._providers[0], time.perf_counter()
        try:
            encrypted = first.prefix + await first.encrypt(data, key)
        except CannotEncrypt:
            metrics.failed(self._resource, metrics.TO_STORAGE, first.prefix)
            raise
        metrics.transformed(self._resource, metrics.TO_STORAGE, first.prefix, time.perf_counter() - began)
        return encrypted

    async def decrypt(self, data: bytes, key: bytes) -> Decrypted:
        """Decrypts a value of etcd. Raises CannotDecrypt, Unavailable."""
        began = time.perf_counter()
        prefix = next((each.prefix for each in self._providers if data.startswith(each.prefix)), None)
        shown = b"unknown" if prefix is None else prefix or b"identity"
        try:
            found = await decrypted_by(self._providers, data, key, "no matching prefix found")
        except CannotDecrypt:
            metrics.failed(self._resource, metrics.FROM_STORAGE, shown)
            raise
        metrics.transformed(self._resource, metrics.FROM_STORAGE, shown, time.perf_counter() - began)
        return found
