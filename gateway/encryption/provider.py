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
    """What a value is, and whether it is to be written anew with the next write."""

    value: bytes
    stale: bool


class Provider(Protocol):
    """Encrypts and decrypts what follows a prefix. `key` is that of etcd, which some authenticate with the value."""

    prefix: bytes

    async def encrypt(self, data: bytes, key: bytes) -> bytes:
        """Raises CannotEncrypt."""
        ...

    async def decrypt(self, data: bytes, key: bytes) -> Decrypted:
        """Raises CannotDecrypt, and Unavailable where asking again may help."""
        ...


class Identity:
    """Leaves values as they are, and knows encrypted ones."""

    prefix = b""

    async def encrypt(self, data: bytes, key: bytes) -> bytes:
        return data

    async def decrypt(self, data: bytes, key: bytes) -> Decrypted:
        if data.startswith(ENCRYPTED):
            raise CannotDecrypt("identity transformer tried to read encrypted data")
        return Decrypted(data, False)


class Keyed:
    """The keys of one provider: each value says by name with which it was encrypted; the first one encrypts."""

    def __init__(self, prefix: bytes, keys: Sequence[Provider], unknown: str) -> None:
        self.prefix, self._keys, self._unknown = prefix, keys, unknown

    async def encrypt(self, data: bytes, key: bytes) -> bytes:
        first = self._keys[0]
        return first.prefix + await first.encrypt(data, key)

    async def decrypt(self, data: bytes, key: bytes) -> Decrypted:
        return await decrypted_by(self._keys, data, key, self._unknown)


async def decrypted_by(providers: Sequence[Provider], data: bytes, key: bytes, unknown: str) -> Decrypted:
    """What the first provider makes of a value that can; a value of any but the first is stale.

    Raises CannotDecrypt with the reasons of all whose prefix it has, `unknown` where there is none.
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


class Chain:
    """The providers of a resource: the first one encrypts, all decrypt. `resource` is its name in metrics."""

    def __init__(self, resource: str, providers: Sequence[Provider]) -> None:
        self._providers, self._resource = providers, resource

    async def encrypt(self, data: bytes, key: bytes) -> bytes:
        """Raises CannotEncrypt."""
        first, began = self._providers[0], time.perf_counter()
        try:
            encrypted = first.prefix + await first.encrypt(data, key)
        except CannotEncrypt:
            metrics.failed(self._resource, metrics.TO_STORAGE, first.prefix)
            raise
        metrics.transformed(self._resource, metrics.TO_STORAGE, first.prefix, time.perf_counter() - began)
        return encrypted

    async def decrypt(self, data: bytes, key: bytes) -> Decrypted:
        """Raises CannotDecrypt, Unavailable."""
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
