"""The gateway's parts, wired: what is given to every verb."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gateway.access.authentication import Authenticator
from gateway.access.authorization import Authorizer
from gateway.config import Settings
from gateway.http.routing import ResourceKey
from gateway.resources.registry import Registry
from gateway.resources.resource import Resource
from storage.etcd import EtcdClient
from storage.feed import Feed
from storage.store import EtcdStore

if TYPE_CHECKING:
    from gateway.verbs.scope import Scope
    from gateway.verbs.serving import Served

PROBE_TIMEOUT = 4.0  # seconds; a read may wait for the end of one probe and then for its own, and no read hangs over 10


@dataclass(slots=True)
class Gateway:
    """One server process. `stopping` is set when it begins to shut down: watches await it and end."""

    settings: Settings
    registry: Registry
    authenticator: Authenticator
    authorizer: Authorizer
    client: EtcdClient
    feed: Feed
    store: EtcdStore
    served: dict[tuple[str, str, str], Served] = field(default_factory=dict)  # how each resource is read
    scopes: dict[ResourceKey, Scope] = field(default_factory=dict)  # how each is written, made on first use
    stopping: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def resources(self) -> Mapping[ResourceKey, Resource]:
        """The served resources and subresources."""
        return self.registry.resources

    def stop(self) -> None:
        """Begins the shutdown: watches end, whatever they are waiting for."""
        self.stopping.set()
        for cache in self.store.cache:
            cache.wake()

    def defines_group(self, group: str) -> bool:
        """Whether a stored definition of custom resources names an API group, served or not."""
        served = self.served.get(("apiextensions.k8s.io", "v1", "customresourcedefinitions"))
        suffix = b"." + group.encode()
        return served is not None and any(key.endswith(suffix) for key in served.cache.all_keys())


def build_gateway(settings: Settings) -> Gateway:
    """Makes the parts and puts them together; nothing is connected yet. To be called on the event loop."""
    from gateway.access.authorization import AuthenticatedOnly
    from gateway.access.tokens import authenticator_of
    from gateway.resources.registry import builtin_registry
    from gateway.verbs.serving import serve
    from storage.cache import WatchCache
    from storage.consistency import ConsistentReads
    from storage.reads import Reads

    client = EtcdClient(settings.etcd())
    root = f"{settings.etcd_prefix}/".encode()
    cache = WatchCache(root)
    feed = Feed(client, cache)

    async def probe() -> int:
        revision = await client.revision(root, timeout=PROBE_TIMEOUT)
        feed.notice(revision)
        return revision

    consistent = ConsistentReads(cache, probe, feed.request_progress)
    registry = builtin_registry()
    gateway = Gateway(
        settings=settings,
        registry=registry,
        authenticator=authenticator_of(settings),
        authorizer=AuthenticatedOnly(),
        client=client,
        feed=feed,
        store=EtcdStore(client, cache, Reads(client, cache, consistent), feed.acknowledged),
    )
    for resource in registry.resources.values():
        if resource.storage_prefix and not resource.subresource:
            gateway.served[resource.group, resource.version, resource.resource] = serve(resource, cache, root)
    return gateway
