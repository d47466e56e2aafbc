"""What writing a resource takes, compiled once per served resource: its schema, strategy, admission chain and key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gateway.admission.chain import Chain, chain_for
from gateway.admission.lookup import Lookup
from gateway.jsontypes import JsonObject, loads
from gateway.kinds.resource import Resource
from gateway.kinds.strategies import strategy_for
from gateway.kinds.strategy import Strategy
from gateway.schema.types import Type
from gateway.verbs.expiry import Expiry
from gateway.verbs.hooks import WriteHooks, hooks_for
from gateway.verbs.stored import head_of

if TYPE_CHECKING:
    from gateway.server import Gateway

EVENT_SECONDS = 3600

Convert = Callable[[JsonObject], JsonObject]


@dataclass(frozen=True, slots=True)
class Scope:
    """A resource as writes see it.

    `to_storage` and `from_storage` convert between the served and the stored version, None where they are the same.
    `head` is how its stored values start.
    """

    resource: Resource
    type: Type
    strategy: Strategy
    chain: Chain
    lookup: Lookup
    hooks: WriteHooks | None
    expiry: Expiry | None
    key_prefix: bytes
    head: bytes
    storage_version: str
    kind_group: str
    to_storage: Convert | None
    from_storage: Convert | None
    convert: Callable[[JsonObject, str], tuple[JsonObject, Type] | None] | None = None

    def key(self, namespace: str, name: str) -> bytes:
        """The key in etcd of an object."""
        if self.resource.namespaced:
            return self.key_prefix + f"{namespace}/{name}".encode()
        return self.key_prefix + name.encode()

    def parse(self, value: bytes) -> JsonObject:
        """The object that a stored (canonical) value holds, in the storage version."""
        obj: JsonObject = loads(value)
        return obj

    def served(self, obj: JsonObject) -> JsonObject:
        """An object of the storage version in the served version."""
        return obj if self.from_storage is None else self.from_storage(obj)


def scope_of(gateway: Gateway, resource: Resource) -> Scope:
    """The scope of a resource or of a subresource that takes its parent's kind; compiled on first use."""
    key = (resource.group, resource.version, resource.resource, resource.subresource)
    scope = gateway.scopes.get(key)
    if scope is None or scope.resource is not resource:
        scope = gateway.scopes[key] = _compile(gateway, resource)
    return scope


def _compile(gateway: Gateway, resource: Resource) -> Scope:
    from gateway.kinds.storage_form import converter
    from gateway.schema.catalog import type_of

    kind, served = resource.kind, resource.api_version
    stored = resource.storage_version or served  # reviews are never stored
    if (resource.kind_group, resource.kind_version) != (resource.group, resource.version):
        stored = served  # a subresource with a kind of its own, like Scale: never stored as such
    group = stored.rpartition("/")[0]
    settings = gateway.settings
    return Scope(
        resource=resource,
        type=type_of(resource.type_name),
        strategy=strategy_for(resource.group, resource.resource, resource.subresource),
        chain=chain_for(resource, settings.enable_admission_plugins, settings.disable_admission_plugins),
        lookup=_shared_lookup(gateway),
        hooks=hooks_for(gateway, resource),
        expiry=Expiry(gateway, EVENT_SECONDS) if resource.storage_prefix == "events" else None,
        key_prefix=f"{settings.etcd_prefix}/{resource.storage_prefix}/".encode(),
        head=head_of(kind, stored),
        storage_version=stored,
        kind_group=group,
        to_storage=converter(kind, served, stored),
        from_storage=converter(kind, stored, served),
    )


def _shared_lookup(gateway: Gateway) -> Lookup:
    """One for all scopes of a gateway, so that what it remembers is remembered once."""
    return next((scope.lookup for scope in gateway.scopes.values()), None) or Lookup(gateway)
