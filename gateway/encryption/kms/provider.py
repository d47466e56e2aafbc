"""The provider `kms`: values are encrypted with keys derived from a seed, which the key management service encrypts.

A seed is used until the service names another key. When the service does not answer, values with a known seed can still
be read. Writes are refused three minutes after the last successful status. Values with an unknown seed can't be read:
one call waits for the service, and all others fail at once until it answers again.
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
from gateway.pieces import is_ending, survive_async
from gateway.schema.protobuf_wire import ProtobufError
from storage.errors import Unavailable

logger = logging.getLogger(__name__)

PREFIX = b"k8s:enc:kms:v2:"
WELL_INTERVAL, ILL_INTERVAL = 60.0, 10.0  # seconds between status checks
BETWEEN_CALLS = 1.0  # seconds between calls to a service that does not answer
_TOLD_AFTER = (0.0, 5.0, 60.0)  # pauses in seconds before each call of `back`
WRITABLE = 180.0  # seconds in which a seed may encrypt after the last good status
FRESH_WELL, FRESH_ILL = 20.0, 3.0  # seconds in which the result of a health check is reused
SEED_SIZE = INFO_SIZE = KEY_SIZE = 32
MAX_KEY_ID = MAX_SOURCE = 1024
MAX_ANNOTATIONS = 32 * 1024
MOST_SEEDS = 10_000
_LABEL = re.compile(r"(?!-)[-a-z0-9]{1,63}(?<!-)")  # a label of a domain name

SeedKey = tuple[int, bytes, str, tuple[tuple[str, bytes], ...]]


@dataclass(frozen=True, slots=True)
class _Writing:
    """The current seed for encryption; `source` is the seed as the service encrypted it."""

    seed: bytes
    key_id: str
    source: bytes
    annotations: Mapping[str, bytes]


class KmsProvider:
    """Encrypts with seeds of a key management service. `server` names this process in metrics."""

    def __init__(self, service: KmsService, server: str, back: Callable[[], None] = lambda: None) -> None:
        """`back` is called when the service answers again after an outage."""
        self._back = back
        self._away = ""  # the error, while the service does not answer
        self._asking: asyncio.Task[None] | None = None
        self.prefix = PREFIX + service.name.encode() + b":"
        self.name, self.timeout = service.name, service.timeout
        self._service, self._server = service, server
        self._writing: _Writing | None = None
        self._until = 0.0  # monotonic time up to which `_writing` may be used
        self._seeds: dict[SeedKey, Any] = {}
        self._version = ""
        self._looked: tuple[float, str] = (0.0, "")  # the last health check: reusable until, and its result
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
        """The seed (or key) of a stored value; the service decrypts each once. Raises CannotDecrypt, Unavailable."""
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
        """Repeats the call until the service answers, even with an error; then calls `back`."""
        while self._away and not is_ending():
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
        for pause in _TOLD_AFTER:  # again later: values that were in transit reach the cache after the first call
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
        """Checks the service regularly, until it is cancelled."""
        while True:
            wrong = await survive_async(KmsProvider.look, self, _failed, "it could not be looked at")
            await asyncio.sleep(ILL_INTERVAL if wrong else WELL_INTERVAL)

    async def health(self) -> str:
        """What is wrong with the service, "" if it is well. The result is reused for some seconds."""
        if self._away:
            return f"kmsv2 Provider {self.name} is not healthy, error: {self._away}"
        until, wrong = self._looked
        return wrong if time.monotonic() < until else await self.look()

    async def look(self) -> str:
        """Gets the service's status, and makes a new seed if its key has changed. Returns what is wrong, or ""."""
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
        """Makes a new seed, unless the current one belongs to the key `key_id`. Returns why that failed, or ""."""
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
    logger.error("the kms plugin check failed", extra={"provider": provider.name}, exc_info=error)


def derived(seed: bytes, info: bytes) -> Any:
    """AES-GCM with the key that HKDF-Expand (RFC 5869, SHA-256) derives from a seed and `info`."""
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

    return _gcm(HKDFExpand(SHA256(), KEY_SIZE, info).derive(seed))


def _gcm(key: bytes) -> Any:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM(key)


def invalid(found: EncryptedObject) -> str:
    """What is wrong with a stored value, in kube-apiserver's words; "" if it is valid."""
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
    """What is wrong with a key ID; "" if it is valid."""
    if not key_id:
        return "keyID is empty"
    size = len(key_id.encode())
    return f"keyID is {size} bytes, which exceeds the max size of {MAX_KEY_ID}" if size > MAX_KEY_ID else ""


def _is_domain(name: str) -> bool:
    labels = name.split(".")
    return len(name) <= 253 and len(labels) > 1 and all(map(_LABEL.fullmatch, labels))
