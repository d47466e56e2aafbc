"""The gateway's parts, wired."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING

from gateway.endpoints.services import Services
from gateway.endpoints.table import Endpoints
from gateway.http.exchange import Request, Response
from gateway.http.negotiation import STANDARD, WITH_CBOR
from gateway.kinds.registry import Registry
from gateway.settings.config import Settings
from storage.etcd import EtcdClient
from storage.feed import Feed
from storage.store import EtcdStore

Delegate = Callable[[Request], Awaitable[Response] | None]
"""Answers an authorized request where another server has to; None where none has."""

if TYPE_CHECKING:
    from gateway.access.nodes.graph import NodeGraph
    from gateway.controllers.running import Controllers
    from gateway.encryption.encryption import Encryption
    from gateway.openapi.others import Others as OthersDescribed

PROBE_TIMEOUT = 4.0  # seconds; a read may wait for the end of one probe and then for its own, and no read hangs over 10


@dataclass(slots=True)
class Gateway:
    """One server process: what it serves (`endpoints`, `registry`) with which parts (`services`)."""

    registry: Registry
    services: Services
    endpoints: Endpoints
    delegate: Delegate | None = None  # finds what other servers serve
    described: OthersDescribed | None = None  # and how they describe it
    controllers: Controllers | None = None  # from start-up on
    # what is done beside the requests, by upstream's names of health checks: what is wrong with it, "" if nothing is
    checks: dict[str, Callable[[], str]] = field(default_factory=dict)
    furnished: asyncio.Event = field(default_factory=asyncio.Event)  # set once all is there that every cluster has

    @property
    def settings(self) -> Settings:
        """What the command line said."""
        return self.services.settings

    @property
    def client(self) -> EtcdClient:
        """The connection to etcd."""
        return self.services.client

    @property
    def feed(self) -> Feed:
        """What keeps the watch cache up to date."""
        return self.services.feed

    @property
    def store(self) -> EtcdStore:
        """Reads and writes."""
        return self.services.store

    @property
    def stopping(self) -> asyncio.Event:
        """Set when the process begins to shut down."""
        return self.services.stopping

    def drain(self, seconds: float) -> None:
        """Says that this process stops soon: it is not ready any more, and watches end one after the other."""
        self.services.ends_at = monotonic() + seconds
        self.services.draining.set()
        for cache in self.store.cache:
            cache.wake_all()

    def stop(self) -> None:
        """Begins the shutdown: watches end, whatever they are waiting for."""
        self.services.draining.set()
        self.stopping.set()
        for cache in self.store.cache:
            cache.wake_all()


def build_gateway(settings: Settings) -> Gateway:
    """Makes the parts and puts them together; nothing is connected yet. To be called on the event loop."""
    from gateway.access.following import Followed, Following
    from gateway.access.legacy_uses import LegacyUses
    from gateway.access.modes import Authorization
    from gateway.access.rbac.policy import GROUP, Kind, Policy
    from gateway.access.tokens import authenticator_of
    from gateway.admission.chain import Parts
    from gateway.admission.plugins import configure
    from gateway.admission.policies.configuration import GROUP as ADMISSION
    from gateway.admission.policies.policies import Policies
    from gateway.admission.webhooks.configuration import GROUP as WEBHOOKS
    from gateway.admission.webhooks.files import hooks_of
    from gateway.admission.webhooks.sorts import AdmissionWebhooks
    from gateway.flowcontrol.limiting import FlowControl
    from gateway.flowcontrol.modes import limiter_of
    from gateway.flowcontrol.objects import GROUP as FLOW_CONTROL
    from gateway.flowcontrol.objects import LEVELS, SCHEMAS
    from gateway.flowcontrol.watches import OpenWatches
    from gateway.kinds.builtin import builtin_registry
    from gateway.kinds.objects import Objects
    from gateway.kinds.service_objects import ServiceObjects
    from gateway.outbound.client import Client
    from gateway.outbound.identity import ClientIdentity
    from gateway.outbound.services import ServiceAddresses
    from gateway.quotas.charging import Charges
    from gateway.webhooks.client import Webhooks
    from gateway.writing.hooks import OwnObjects, hooks_for
    from storage.cache import WatchCache
    from storage.catching_up import Pasts
    from storage.checking import Checker
    from storage.consistency import ConsistentReads
    from storage.reads import Reads

    registry = builtin_registry()
    encryption = _encryption_of(settings, registry)
    client = EtcdClient(settings.etcd(), encryption)
    root = f"{settings.etcd_prefix}/".encode()
    cache = WatchCache(root)
    feed = Feed(client, cache)

    consistent = ConsistentReads(cache, lambda: feed.probe(PROBE_TIMEOUT), feed.request_progress)
    store = EtcdStore(client, cache, Reads(client, cache, consistent), feed.acknowledged)
    policies = Policies(registry)
    policy, following, objects = Policy(), Following(), Objects(registry, store, settings.etcd_prefix)
    authorization, uses = Authorization(settings, policy), LegacyUses()
    outbound, services_of = Client(), ServiceObjects(objects)
    webhooks = Webhooks(outbound, ServiceAddresses(services_of.service, services_of.endpoint_slices))
    configured = configure(
        settings.admission_control_config_file, settings.enable_admission_plugins, settings.disable_admission_plugins
    )
    sorts = (f"{sort}AdmissionWebhook" for sort in ("Mutating", "Validating"))
    hooks = AdmissionWebhooks(*(hooks_of(configured.get(name), registry, webhooks) for name in sorts))
    kubelets = ClientIdentity(
        settings.kubelet_client_certificate, settings.kubelet_client_key, settings.kubelet_certificate_authority
    )
    if kubelets.paths:
        following.add(Followed("certificates for kubelets", kubelets.paths, kubelets.reload))
    watches = OpenWatches(settings.max_watches_per_user)
    services = Services(
        settings=settings,
        authenticator=authenticator_of(settings, objects, following, uses),
        authorizer=authorization.chain,
        policy=policy,
        client=client,
        feed=feed,
        store=store,
        admission=Parts(
            objects,
            authorization.chain,
            Charges(store),
            configured,
            registry.by_kind,
            lambda gvr, namespace, obj: OwnObjects(endpoints).create(gvr, namespace, obj),
            policies=policies,
            webhooks=hooks,
        ),
        checker=Checker(client, cache, feed.load_anew),
        limiter=limiter_of(settings, lambda info: endpoints.size(info.group, info.version, info.resource), watches),
        watches=watches,
        following=following,
        legacy_uses=uses,
        pasts=Pasts(client),
        encryption=encryption,
        outbound=outbound,
        webhooks=webhooks,
        kubelets=kubelets,
        media=WITH_CBOR if "CBORServingAndStorage" in settings.feature_gates else STANDARD,
    )
    endpoints = Endpoints(registry, services)
    if isinstance(services.limiter, FlowControl):
        schemas, levels = (endpoints.of(FLOW_CONTROL, "v1", name).cache for name in (SCHEMAS, LEVELS))
        services.limiter.configuration.follow(cache, schemas, levels)
    services.hooks = lambda resource: hooks_for(endpoints, resource)
    policy.follow(cache, {kind: endpoints.of(GROUP, "v1", kind.value).cache for kind in Kind})
    policies.follow(cache, lambda resource: endpoints.of(ADMISSION, "v1", resource).cache)
    for sort, followed in (("mutating", hooks.mutating), ("validating", hooks.validating)):
        followed.follow(cache, endpoints.of(WEBHOOKS, "v1", f"{sort}webhookconfigurations").cache)
    if authorization.graph is not None:
        _follow_nodes(authorization.graph, endpoints)
    for each in authorization.followed():
        following.add(each)
    if encryption is not None and settings.encryption_provider_config_automatic_reload:
        following.add(encryption.followed())
    return Gateway(registry, services, endpoints)


def _encryption_of(settings: Settings, registry: Registry) -> Encryption | None:
    """By what objects are encrypted in etcd; None where nothing is."""
    path = settings.encryption_provider_config
    if path is None:
        return None
    from gateway.encryption.encryption import Encryption
    from gateway.encryption.resources import keys_of

    return Encryption(path, keys_of(registry, settings.etcd_prefix), socket.gethostname())


def _follow_nodes(graph: NodeGraph, endpoints: Endpoints) -> None:
    from gateway.access.nodes.graph import Kind

    graph.follow(endpoints.services.store.cache, {kind: endpoints.of(*kind.value).cache for kind in Kind})
