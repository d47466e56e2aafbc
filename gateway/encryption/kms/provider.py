"""The provider `kms`: values are encrypted with keys derived from a seed, which the key management service encrypts.

A seed is used until the service names another key. When the service does not answer, reads go on, and writes are
refused three minutes after its last successful status. What was encrypted by a seed that is not known yet can't be read
then: one call waits for the service, and all others are told at once, until it is back.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from gateway.encryption import metrics
from gateway.encryption.ciphers import opened, sealed
from gateway.encryption.kms.messages import AES_GCM_KEY, SEED, EncryptedObject, decode_object
from gateway.encryption.kms.service import KmsError, KmsService
from gateway.encryption.provider import CannotDecrypt, CannotEncrypt, Decrypted
from gateway.pieces import survive_async
from gateway.schema.protobuf_wire import ProtobufError
from storage.errors import Unavailable

logger = logging.getLogger(__name__)

PREFIX = b"k8s:enc:kms:v2:"
WELL_INTERVAL, ILL_INTERVAL = 60.0, 10.0  # seconds between looks at the service
BETWEEN_CALLS = 1.0  # seconds, of a service that does not answer
_TOLD_AFTER = (0.0, 5.0, 60.0)  # seconds after one another
WRITABLE = 180.0  # seconds for which a seed encrypts after the service was last well
FRESH_WELL, FRESH_ILL = 20.0, 3.0  # seconds for which an answer of a health check is good
SEED_SIZE = INFO_SIZE = KEY_SIZE = 32
MAX_KEY_ID = MAX_SOURCE = 1024
MAX_ANNOTATIONS = 32 * 1024
MOST_SEEDS = 10_000
_LABEL = re.compile(r"(?!-)[-a-z0-9]{1,63}(?<!-)")  # of a domain

SeedKey = tuple[int, bytes, str, tuple[tuple[str, bytes], ...]]


@dataclass(frozen=True, slots=True)
class _Writing:
    """With what is encrypted at present."""

    seed: bytes
    key_id: str
    source: bytes
    annotations: Mapping[str, bytes]


class KmsProvider:
    """Encrypts by a service. `server` names this process in metrics."""

    def __init__(self, service: KmsService, server: str, back: Callable[[], None] = lambda: None) -> None:
        """`back` is called when the service answers again that has not."""
        self._back = back
        self._away = ""  # why what it has encrypted can't be read, while it does not answer
        self._asking: asyncio.Task[None] | None = None
        self.prefix = PREFIX + service.name.encode() + b":"
        self.name, self.timeout = service.name, service.timeout
        self._service, self._server = service, server
        self._writing: _Writing | None = None
        self._until = 0.0  # monotonic time up to which it may be used
        self._seeds: dict[SeedKey, Any] = {}
        self._version = ""
        self._looked: tuple[float, str] = (0.0, "")  # until when the answer is good, and what is wrong
        self._looking = asyncio.Lock()

    # values

    async def encrypt(self, data: bytes, key: bytes) -> bytes:
        writing = self._writing
        if writing is None:
            raise CannotEncrypt("got unexpected nil transformer")
        if time.monotonic() > self._until:
            raise CannotEncrypt(f'encryptedDEKSource with keyID hash "{metrics.hashed(writing.key_id)}" expired')
        info = os.urandom(INFO_SIZE)
        encrypted = info + sealed(derived(writing.seed, info), data, key)
        metrics.key_used(metrics.TO_STORAGE, self.name, writing.key_id, self._server)
        return EncryptedObject(encrypted, writing.key_id, writing.source, writing.annotations).encode()

    async def decrypt(self, data: bytes, key: bytes) -> Decrypted:
        try:
            found = decode_object(data)
        except ProtobufError as error:
            raise CannotDecrypt(str(error)) from None
        if wrong := invalid(found):
            raise CannotDecrypt(wrong)
        secret = await self._secret(found)
        metrics.key_used(metrics.FROM_STORAGE, self.name, found.key_id, self._server)
        writing = self._writing
        stale = writing is None or found.key_id != writing.key_id or found.source_type != SEED
        if found.source_type == AES_GCM_KEY:
            return Decrypted(opened(_gcm(secret), found.data, key), stale)
        if len(found.data) < INFO_SIZE:
            raise CannotDecrypt("the stored data was shorter than the required size")
        return Decrypted(opened(derived(secret, found.data[:INFO_SIZE]), found.data[INFO_SIZE:], key), stale)

    async def _secret(self, found: EncryptedObject) -> bytes:
        """What the service makes of a source; asked once for each. Raises CannotDecrypt, Unavailable."""
        place = found.source_type, found.source, found.key_id, tuple(sorted(found.annotations.items()))
        known: bytes | None = self._seeds.get(place)
        if known is not None:
            return known
        metrics.MISSES.labels().inc()
        if self._away:
            raise Unavailable(self._away)
        try:
            secret = await self._ask_for(found)
        except Unavailable as error:
            if not self._away:
                self._away = str(error)
                logger.warning("kms plugin does not answer", extra={"provider": self.name, "error": str(error)})
                self._asking = asyncio.create_task(self._ask_again(found), name=f"kms {self.name}")
            raise
        return self._known(place, secret)

    async def _ask_again(self, found: EncryptedObject) -> None:
        """Asks until the service answers, whatever it says."""
        while self._away:
            await asyncio.sleep(BETWEEN_CALLS)
            try:
                await self._ask_for(found)
            except Unavailable:
                continue
            except CannotDecrypt:
                pass
            except Exception as error:
                _failed(self, error)
                continue
            self._away = ""
        logger.info("kms plugin answers again", extra={"provider": self.name})
        for pause in _TOLD_AFTER:  # what was on its way when it came back is in the cache a little later
            await asyncio.sleep(pause)
            if self._away:
                return
            self._back()

    async def _ask_for(self, found: EncryptedObject) -> bytes:
        try:
            return await self._service.decrypt(found.source, str(uuid4()), found.key_id, found.annotations)
        except KmsError as error:
            if error.code in ("Unavailable", "DeadlineExceeded", "Cancelled"):
                raise Unavailable(f"failed to decrypt DEK, error: {error}") from None
            raise CannotDecrypt(f"failed to decrypt DEK, error: {error}") from None

    def _known(self, place: SeedKey, secret: bytes) -> bytes:
        if len(secret) < SEED_SIZE:
            raise CannotDecrypt(f"invalid seed length {len(secret)} used for key generation")
        self._remember(place, secret)
        return secret

    def _remember(self, place: SeedKey, secret: bytes) -> None:
        if len(self._seeds) >= MOST_SEEDS:
            self._seeds.clear()
        self._seeds[place] = secret
        metrics.KNOWN_KEYS.labels(self.name).set(len(self._seeds))

    # the service

    async def watch(self) -> None:
        """Looks at the service from time to time, until cancelled."""
        while True:
            wrong = await survive_async(KmsProvider.look, self, _failed, "it could not be looked at")
            await asyncio.sleep(ILL_INTERVAL if wrong else WELL_INTERVAL)

    async def health(self) -> str:
        """What is wrong with it, "" for nothing; asked anew every few seconds at most."""
        if self._away:
            return f"kmsv2 Provider {self.name} is not healthy, error: {self._away}"
        until, wrong = self._looked
        return wrong if time.monotonic() < until else await self.look()

    async def look(self) -> str:
        """Asks the service how it is, and takes a new seed where its key has changed; what is wrong, "" for nothing."""
        async with self._looking:
            wrong = await self._look()
            self._looked = time.monotonic() + (FRESH_ILL if wrong else FRESH_WELL), wrong
        if wrong:
            logger.warning("kms plugin failed health check probe", extra={"provider": self.name, "error": wrong})
        return wrong

    async def _look(self) -> str:
        began = time.monotonic()
        try:
            status = await self._service.status()
        except KmsError as error:
            what = f"failed to perform status section of the healthz check for KMS Provider {self.name}"
            return f"{what}, error: {error}"
        wrong = []
        if status.health != "ok":
            wrong.append(f"got unexpected healthz status: {status.health}")
        if status.version not in ("v2", "v2beta1"):
            wrong.append(f"expected KMSv2 API version v2, got {status.version}")
        elif (self._version or status.version) != status.version:
            wrong.append(
                "KMSv2 API version should not change after the initial status response version "
                f"{self._version}, got {status.version}"
            )
        else:
            self._version = status.version
        if no_key := invalid_key_id(status.key_id):
            metrics.INVALID_KEY_IDS.labels(self.name, "too_long" if status.key_id else "empty").inc()
            wrong.append(f'got invalid KMSv2 KeyID hash "{metrics.hashed(status.key_id)}": {no_key}')
        else:
            metrics.STATUS_TIMES.labels(self.name, metrics.hashed(status.key_id), metrics.hashed(self._server)).set(
                time.time()
            )
            if failed := await self._rotate(status.key_id, began):
                wrong.append(failed)
        if not wrong:
            return ""
        reasons = wrong[0] if len(wrong) == 1 else f"[{', '.join(wrong)}]"
        return f"kmsv2 Provider {self.name} is not healthy, error: {reasons}"

    async def _rotate(self, key_id: str, began: float) -> str:
        """Sees to it that the seed is one of the service's present key; why that failed."""
        if self._writing is not None and self._writing.key_id == key_id:
            self._until = began + WRITABLE
            return ""
        seed, failed = os.urandom(SEED_SIZE), ""
        made = time.perf_counter()
        try:
            encrypted = await self._service.encrypt(seed, str(uuid4()))
        except KmsError as error:
            failed = f"failed to encrypt DEK, error: {error}"
        else:
            source = EncryptedObject(b"\0", encrypted.key_id, encrypted.ciphertext, encrypted.annotations)
            failed = invalid(source)
            if not failed and encrypted.key_id != key_id:
                failed = "the key of the status is not the one that encrypts"
        if failed:
            metrics.KEY_FAILURES.labels().inc()
            return f'failed to rotate DEK, error: {failed}, statusKeyIDHash="{metrics.hashed(key_id)}"'
        metrics.KEY_SECONDS.labels().observe(time.perf_counter() - made)
        self._writing = _Writing(seed, key_id, encrypted.ciphertext, encrypted.annotations)
        self._until = began + WRITABLE
        place = SEED, encrypted.ciphertext, key_id, tuple(sorted(encrypted.annotations.items()))
        self._remember(place, seed)
        return ""

    async def close(self) -> None:
        """Disconnects."""
        if self._asking is not None:
            self._asking.cancel()
        await self._service.close()


def _failed(provider: KmsProvider, error: Exception) -> None:
    logger.error("kms plugin could not be asked", extra={"provider": provider.name}, exc_info=error)


def derived(seed: bytes, info: bytes) -> Any:
    """AES-GCM with the key that HKDF-Expand (RFC 5869, SHA-256) makes of a seed."""
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

    return _gcm(HKDFExpand(SHA256(), KEY_SIZE, info).derive(seed))


def _gcm(key: bytes) -> Any:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM(key)


def invalid(found: EncryptedObject) -> str:
    """What is wrong with a stored value, in kube-apiserver's words; "" for nothing."""
    if found.source_type not in (AES_GCM_KEY, SEED):
        return f"unknown encryptedDEKSourceType: {found.source_type}"
    if not found.data:
        return "encrypted data is empty"
    if not found.source:
        return "failed to validate encrypted DEK source: encrypted DEK source is empty"
    if len(found.source) > MAX_SOURCE:
        size = f"encrypted DEK source is {len(found.source)} bytes, which exceeds the max size of {MAX_SOURCE}"
        return f"failed to validate encrypted DEK source: {size}"
    if no_key := invalid_key_id(found.key_id):
        return f"failed to validate key id: {no_key}"
    for name in found.annotations:
        if not _is_domain(name):
            return f'failed to validate annotations: annotations: Invalid value: "{name}": should be a domain'
    size_of_all = sum(len(name) + len(value) for name, value in found.annotations.items())
    if size_of_all > MAX_ANNOTATIONS:
        too_large = f"total size of annotations is {size_of_all}, which exceeds the max size of {MAX_ANNOTATIONS}"
        return f"failed to validate annotations: {too_large}"
    return ""


def invalid_key_id(key_id: str) -> str:
    """What is wrong with the name of a key."""
    if not key_id:
        return "keyID is empty"
    size = len(key_id.encode())
    return f"keyID is {size} bytes, which exceeds the max size of {MAX_KEY_ID}" if size > MAX_KEY_ID else ""


def _is_domain(name: str) -> bool:
    labels = name.split(".")
    return len(name) <= 253 and len(labels) > 1 and all(map(_LABEL.fullmatch, labels))
