"""The etcd client's transformer: the current providers, and their replacement when the configuration changes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gateway.access.file_reload import Followed, digest_of
from gateway.encryption import metrics
from gateway.encryption.ciphers import AesCbc, AesGcm, Secretbox
from gateway.encryption.configuration import ANY, Place, ProviderRule, ResourceConfiguration, read_rules
from gateway.encryption.kms.provider import KmsProvider
from gateway.encryption.kms.service import KmsService
from gateway.encryption.provider import (
    ENCRYPTED,
    CannotDecrypt,
    CannotEncrypt,
    IdentityTransformer,
    KeyedProvider,
    Provider,
    ProviderChain,
)
from gateway.encryption.resources import KeyResources
from gateway.pieces import survive_async
from storage.database import Database
from storage.errors import Unavailable, Untransformed
from storage.values import AwaitedValue, StaleValue, UnreadableValue

logger = logging.getLogger(__name__)

_CIPHERS: Mapping[str, Callable[[str, bytes], Provider]] = {"aescbc": AesCbc, "aesgcm": AesGcm, "secretbox": Secretbox}
_UNKNOWN = {
    "aescbc": "no matching key was found for the provided AES transformer",
    "aesgcm": "no matching key was found for the provided AES transformer",
    "secretbox": "no matching key was found for the provided Secretbox transformer",
}


@dataclass(frozen=True, slots=True)
class _InForce:
    """The current providers, by resource, and the key management services among them."""

    chains: Mapping[Place, ProviderChain]
    services: Sequence[KmsProvider]

    async def wrong(self) -> list[str]:
        """Checks all services and takes their keys. Returns what is wrong with them."""
        return [found for service in self.services if (found := await service.look())]

    async def close(self) -> None:
        for service in self.services:
            await service.close()


class Encryption:
    """The `Transformer` (storage/etcd/transformer.py) of an EncryptionConfiguration."""

    def __init__(self, path: Path, keys: KeyResources, server: str) -> None:
        """`server` names this process in metrics. Make it on the event loop. Raises OSError, InvalidConfiguration."""
        self._path, self._keys, self._server = path, keys, server
        self._digest = digest_of(path.read_bytes())
        self._in_force = _made(read_rules(path), server, self._tell_of_return)
        metrics.in_force(server, self._digest)
        self._by_resource: dict[Place, ProviderChain | None] = {}
        self._watching: list[asyncio.Task[None]] = []
        self._wanted: Sequence[ResourceConfiguration] | None = None  # the newest rules, not in use yet
        self._replacing: asyncio.Task[None] | None = None
        self._ending: set[asyncio.Task[None]] = set()
        self._listeners: list[Callable[[], None]] = []
        self._waiting: list[Callable[[], None]] = []

    def concerns(self, key: bytes) -> bool:
        return self._chain(key) is not None

    async def out(self, key: bytes, value: bytes) -> bytes:
        chain = self._chain(key)
        if chain is None:
            return value
        try:
            return await chain.encrypt(value, key)
        except CannotEncrypt as error:
            raise Untransformed(str(error)) from None

    async def into(self, key: bytes, value: bytes) -> bytes:
        chain = self._chain(key)
        if chain is None:
            if not value.startswith(ENCRYPTED):
                return value
            return _unreadable(value, "identity transformer tried to read encrypted data")
        try:
            plain, stale = await chain.decrypt(value, key)
        except CannotDecrypt as error:
            return _unreadable(value, str(error))
        except Unavailable as error:
            return _unreadable(value, str(error), AwaitedValue)
        return StaleValue(plain) if stale else plain

    def _chain(self, key: bytes) -> ProviderChain | None:
        place = self._keys.resource_of(key)
        if place is None:
            return None
        if place not in self._by_resource:
            chains = self._in_force.chains
            found = (chains.get(each) for each in (place, (place[0], "*"), ANY))
            self._by_resource[place] = next((chain for chain in found if chain is not None), None)
        return self._by_resource[place]

    async def start(self) -> None:
        """Takes the keys of the key management services, and checks these regularly from now on. Logs failures."""
        await self._in_force.wrong()
        self._watch()

    async def close(self) -> None:
        """Ends the background tasks and disconnects from the services."""
        for task in (*self._watching, *self._ending, self._replacing):
            if task is not None:
                task.cancel()
        await self._in_force.close()

    def _watch(self) -> None:
        for task in self._watching:
            task.cancel()
        self._watching = [
            asyncio.create_task(service.watch(), name=f"kms {service.name}") for service in self._in_force.services
        ]

    def on_change(self, listener: Callable[[], None]) -> None:
        """Calls a function each time the providers were replaced."""
        self._listeners.append(listener)

    def on_return(self, listener: Callable[[], None]) -> None:
        """Calls a function when a service answers again, so that an AwaitedValue may be readable."""
        self._waiting.append(listener)

    def has_read_again(self, database: Database, other_keys: bool) -> None:
        """Makes `database` read undecrypted values again when a service is back.

        With `other_keys` it also does so when a changed configuration brings other keys.
        """
        if database.rereading is not None:
            self.on_return(database.rereading.service_is_back)
        if other_keys:
            self.on_change(database.checker.other_keys)

    def _tell_of_return(self) -> None:
        for listener in self._waiting:
            listener()

    def followed(self) -> Followed:
        """The configuration file, with the function that reloads it when it changes."""
        return Followed("--encryption-provider-config", (self._path,), self._reload)

    def _reload(self) -> None:
        try:
            self._digest = digest_of(self._path.read_bytes())
            rules = read_rules(self._path)
        except (OSError, ValueError):
            metrics.reloaded(self._server, success=False)
            raise
        self._wanted = rules
        if self._replacing is None or self._replacing.done():
            self._replacing = asyncio.get_running_loop().create_task(self._replace_in_order())

    async def _replace_in_order(self) -> None:
        """Applies one configuration after the other, so that the newest one wins."""
        while (rules := self._wanted) is not None:
            self._wanted = None
            await survive_async(self._replace, rules, self._not_replaced, None)

    def _not_replaced(self, _: Sequence[ResourceConfiguration], error: Exception) -> None:
        metrics.reloaded(self._server, success=False)
        logger.error("--encryption-provider-config changed and cannot be used: %s", error, exc_info=error)

    async def _replace(self, rules: Sequence[ResourceConfiguration]) -> None:
        """Replaces the providers, if the services of the new rules answer; else the old providers stay.

        If newer rules have come meanwhile, these ones are dropped.
        """
        new, old = _made(rules, self._server, self._tell_of_return), self._in_force
        if wrong := await new.wrong():
            metrics.reloaded(self._server, success=False)
            logger.error("--encryption-provider-config changed and cannot be used: %s", wrong[0])
            await new.close()
            return
        if self._wanted is not None:
            await new.close()
            return
        self._in_force, self._by_resource = new, {}
        self._watch()
        metrics.reloaded(self._server, success=True)
        metrics.in_force(self._server, self._digest)
        for listener in self._listeners:
            listener()
        ending = asyncio.create_task(_close_later(old))
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)

    async def health(self) -> str:
        """What is wrong with the key management services, "" if all are well."""
        found = [await self.health_of(index) for index in range(self.services)]
        named = [f"kms-provider-{index}: {wrong}" for index, wrong in enumerate(found) if wrong]
        return named[0] if len(named) == 1 else f"[{', '.join(named)}]" if named else ""

    async def health_of(self, index: int) -> str:
        """What is wrong with one of the key management services, "" if it is well."""
        return await self._in_force.services[index].health()

    @property
    def services(self) -> int:
        """The number of key management services."""
        return len(self._in_force.services)


async def _close_later(old: _InForce) -> None:
    """Disconnects from replaced services, after the time in which their last calls end."""
    await asyncio.sleep(sum(2 * service.timeout for service in old.services))
    await old.close()


def _made(rules: Sequence[ResourceConfiguration], server: str, back: Callable[[], None]) -> _InForce:
    """Makes the providers of a configuration; `back` is called when a service answers again."""
    services: list[KmsProvider] = []
    providers: dict[Place, list[Provider]] = {}
    for rule in rules:
        made = [_provider(each, services, server, back) for each in rule.providers]
        for place in rule.places:
            providers.setdefault(place, []).extend(made)
    return _InForce({place: ProviderChain(_named(place), each) for place, each in providers.items()}, services)


def _provider(rule: ProviderRule, services: list[KmsProvider], server: str, back: Callable[[], None]) -> Provider:
    if rule.kind == "identity":
        return IdentityTransformer()
    if rule.kms is not None:
        found = KmsProvider(KmsService(rule.kms.name, rule.kms.path, rule.kms.timeout), server, back)
        services.append(found)
        return found
    cipher = _CIPHERS[rule.kind]
    keys = [cipher(key.name, key.secret) for key in rule.keys]
    return KeyedProvider(f"k8s:enc:{rule.kind}:v1:".encode(), keys, _UNKNOWN[rule.kind])


def _named(place: Place) -> str:
    group, resource = place
    return f"{resource}.{group}" if group else resource


def _unreadable(value: bytes, reason: str, kind: type[UnreadableValue] = UnreadableValue) -> UnreadableValue:
    found = kind(value)
    found.reason = reason
    return found
