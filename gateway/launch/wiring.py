"""Makes all parts of a server process, and connects them.

The constructor of each part gets the parts that it uses, so this is the order of dependencies: etcd and the watch
cache, extension servers, access and admission, endpoints, the handler of requests. No connection is opened and no task
runs yet: `gateway.launch.app` begins and ends these.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from gateway.access.authentication import Authenticator
from gateway.access.file_reload import Followed, Following
from gateway.access.legacy_uses import LegacyUses
from gateway.access.modes import Authorization
from gateway.access.rbac.policy import GROUP as RBAC
from gateway.access.rbac.policy import RbacPolicy, RbacResource
from gateway.access.tokens import authenticator_of
from gateway.admission.chain import PluginParts
from gateway.admission.manifest_files import manifests_of
from gateway.admission.matcher import GROUP as ADMISSION
from gateway.admission.plugins import configure
from gateway.admission.policies.policies import Policies
from gateway.admission.webhooks.files import hooks_of
from gateway.admission.webhooks.sorts import AdmissionWebhooks
from gateway.aggregation.aggregation import Aggregation
from gateway.aggregation.availability import Availability
from gateway.aggregation.contents import NamespaceContents
from gateway.aggregation.delegation import Delegation
from gateway.aggregation.extension_discovery import ExtensionDiscovery
from gateway.aggregation.extension_openapi import ExtensionOpenApi
from gateway.aggregation.followed_objects import FollowedObjects
from gateway.aggregation.objects import ObjectClient as ForeignObjects
from gateway.aggregation.registration import Registration
from gateway.aggregation.services import GROUP as REGISTRATION
from gateway.aggregation.services import RESOURCE as API_SERVICES
from gateway.aggregation.services import ApiServices, GroupVersion
from gateway.controllers.bootstrap import BOOTSTRAP_HOOKS
from gateway.controllers.controllers import Controllers
from gateway.credentials.front_proxy import front_proxy_identity
from gateway.customresources.definitions import Definitions
from gateway.discovery.discovery import Discovery
from gateway.endpoints.caches import Caches, deciding
from gateway.endpoints.services import Services
from gateway.endpoints.table import EndpointTable
from gateway.flowcontrol.limiter import FlowControl, Limiter
from gateway.flowcontrol.modes import limiter_of
from gateway.flowcontrol.objects import GROUP as FLOW_CONTROL
from gateway.flowcontrol.objects import LEVELS, SCHEMAS
from gateway.flowcontrol.watches import OpenWatches
from gateway.http.cors import with_cors
from gateway.http.user import ITSELF
from gateway.jsontypes import JsonObject
from gateway.kinds.objects import Objects
from gateway.kinds.registry import Registry
from gateway.kinds.service_objects import ServiceObjects
from gateway.launch.app import Answering, App
from gateway.launch.checks import checks_of
from gateway.launch.etcd_placement import databases_apart
from gateway.launch.kinds import kinds_of, registry_of
from gateway.launch.media import media_of
from gateway.observability.siblings import SiblingProcesses
from gateway.operations.application import OperationsApplication
from gateway.outbound.client import Client
from gateway.outbound.identity import ClientIdentity
from gateway.outbound.services import ServiceAddresses
from gateway.quotas.charges import Charges
from gateway.requests.elsewhere import Operations
from gateway.requests.handler import Handler
from gateway.requests.interposed_stages import Interposed
from gateway.requests.parts import Gateway
from gateway.requests.stages import STARTING, while_starting
from gateway.settings.config import Settings
from gateway.webhooks.client import Webhooks
from gateway.writing.actor import Actor
from gateway.writing.hooks import MANAGER, create_own, hooks_for
from storage.database import Database, database_of
from storage.followers import Follower, follow
from storage.store import EtcdStore, Stores

if TYPE_CHECKING:
    from gateway.access.nodes.graph import NodeGraph
    from gateway.audit.audit import Audit
    from gateway.customresources.conversion import ConversionWebhook
    from gateway.encryption.encryption import Encryption
    from gateway.tracing.tracer import Tracer

    On = tuple[Database, Client, Audit | None]


def app_of(settings: Settings, siblings: Path | None = None, feeder: Path | None = None) -> App:
    """The application of a server process. To be called on the event loop.

    With --workers, the processes find each other in the directory `siblings`. With --shared-cache, `feeder` is the
    socket of the process that reads etcd for all. Raises OSError or ValueError for a file that cannot be used.
    """
    gateway, beside = gateway_of(settings, feeder), SiblingProcesses(siblings)
    operational = OperationsApplication(gateway, beside, BOOTSTRAP_HOOKS, checks_of(gateway))
    gateway.interposed.put(STARTING, while_starting(gateway, operational))
    handler: Answering = Handler(gateway, operational)
    planes = None
    if settings.control_planes:
        from gateway.launch.control_planes import planes_of

        planes, handler = planes_of(gateway, handler, operational, partial(_beside, gateway), _knowing)
    return App(gateway, _answering(settings, handler), operational, beside, planes)


def _beside(
    root: Gateway, settings: Settings, database: Database, client: Client, operations: Callable[[Gateway], Operations]
) -> tuple[Gateway, Answering]:
    """The gateway of a control plane, and its handler. The audit log and two other parts are those of the process."""
    gateway = gateway_of(settings, on=(database, client, root.services.audit))
    gateway.services.renderings, gateway.services.alarms = root.services.renderings, root.services.alarms
    return gateway, Handler(gateway, operations(gateway))


def _knowing(registry: Registry, settings: Settings, store: EtcdStore) -> Authenticator:
    """The authenticator of a control plane that rests: it reads from etcd what it needs."""
    return authenticator_of(settings, Objects(registry, store, settings.etcd_prefix), Following(), LegacyUses())


def _answering(settings: Settings, handler: Answering) -> Answering:
    """The handler of requests, with CORS if --cors-allowed-origins is given."""
    if not settings.cors_allowed_origins:
        return handler

    return with_cors(handler, settings.cors_allowed_origins)


def gateway_of(settings: Settings, feeder: Path | None = None, on: On | None = None) -> Gateway:
    """The parts of a process, or of a control plane `on` some of the root's. Raises the same errors as `app_of`."""
    registry, (database, client) = (kinds_of if on else registry_of)(settings), on[:2] if on else (None, Client())
    state = _state(settings, registry, feeder, database)
    servers = _servers(settings, state, client)
    services = _services(settings, registry, state, servers, on[2] if on else _audit(settings))
    endpoints = EndpointTable(registry, state.caches, services, hooks_for, create_own)
    discovery = Discovery(registry, _address(settings), services.media, servers.discovered)
    endpoints.on_change(discovery.refresh)
    servers.discovered.on_change(discovery.refresh)
    definitions = Definitions(endpoints, partial(_converter, services.webhooks))
    return Gateway(
        registry,
        services,
        endpoints,
        discovery,
        definitions,
        _aggregation(state, servers, endpoints, definitions),
        Controllers(endpoints, services.stopping),
        Interposed(),
        asyncio.Event(),
        asyncio.Event(),
        asyncio.Event(),
    )


@dataclass(frozen=True, slots=True)
class _State:
    """Access to etcd. `apart` maps a storage prefix to the other etcd of its resource (--etcd-servers-overrides)."""

    registry: Registry
    encryption: Encryption | None
    database: Database
    apart: dict[str, Database]
    stores: Stores
    caches: Caches
    objects: Objects

    def follow(self, follower: Follower, *resources: tuple[str, str, str]) -> None:
        """Makes a part follow the objects of resources (group, version, plural), which may be in several etcds."""
        follow([(self._database_of(each).cache, self.caches.of(*each)) for each in resources], follower)

    def _database_of(self, resource: tuple[str, str, str]) -> Database:
        return self.apart.get(self.registry.resources[(*resource, "")].storage_prefix, self.database)


def _state(settings: Settings, registry: Registry, feeder: Path | None, database: Database | None) -> _State:
    encryption = encryption_of(settings, registry)
    root = f"{settings.etcd_prefix}/".encode()
    if database is None:
        database = database_of(settings.etcd(), root, encryption, feeder, deciding(registry, root))
    apart: dict[str, Database] = {}
    if settings.etcd_servers_overrides:
        apart = databases_apart(settings, registry, root, encryption)
    caches = Caches(registry, database.cache, database.client, {each: apart[each].cache for each in apart})
    others = {each: apart[each].store for each in apart}
    objects = Objects(registry, database.store, settings.etcd_prefix, others)
    return _State(registry, encryption, database, apart, Stores(database.store, others.values()), caches, objects)


@dataclass(frozen=True, slots=True)
class _Servers:
    """Access to other servers: the HTTP client, and what is known about extension servers (APIServices)."""

    client: Client
    objects: ServiceObjects
    addresses: ServiceAddresses
    identity: ClientIdentity  # the client certificate shown to extension API servers
    api_services: ApiServices
    discovered: ExtensionDiscovery
    foreign: ForeignObjects
    followed: FollowedObjects


def _servers(settings: Settings, state: _State, client: Client) -> _Servers:
    objects, api_services = ServiceObjects(state.objects), ApiServices()
    addresses = ServiceAddresses(objects.service, objects.endpoint_slices, settings.enable_aggregator_routing)
    identity = front_proxy_identity(settings)
    discovered = ExtensionDiscovery(api_services, client, addresses, identity, state.registry.release.gates.enabled)
    state.follow(api_services.known, (REGISTRATION, "v1", API_SERVICES))
    foreign = ForeignObjects(api_services, client, addresses, identity)
    followed = FollowedObjects(api_services, discovered, foreign)
    return _Servers(client, objects, addresses, identity, api_services, discovered, foreign, followed)


def _aggregation(state: _State, servers: _Servers, endpoints: EndpointTable, definitions: Definitions) -> Aggregation:
    actor = Actor(endpoints, ITSELF, manager=MANAGER)
    known, client, addresses, identity = servers.api_services, servers.client, servers.addresses, servers.identity
    registration = Registration(known, endpoints.registry, actor, definitions)
    aggregation = Aggregation(
        known,
        Delegation(known, client, addresses, identity),
        servers.discovered,
        ExtensionOpenApi(known, client, addresses, identity),
        Availability(known, servers.objects, addresses, client, identity, actor, state.registry.release.gates.enabled),
        registration,
    )
    state.follow(aggregation.of_services, ("", "v1", "services"))
    state.follow(aggregation.of_slices, ("discovery.k8s.io", "v1", "endpointslices"))
    _tell_of_groups(known, endpoints)
    return aggregation


def _tell_of_groups(services: ApiServices, endpoints: EndpointTable) -> None:
    """Makes endpoints drop cached routes when a group version moves to an extension server, or back to this one."""
    served = set[GroupVersion]()

    def changed(names: Collection[str]) -> None:
        if served != services.remote.keys():
            served.clear()
            served.update(services.remote)
            endpoints.changed()

    services.on_change(changed)


def _services(
    settings: Settings, registry: Registry, state: _State, servers: _Servers, audit: Audit | None
) -> Services:
    """The services that all endpoints share."""
    files, uses, policy = Following(), LegacyUses(), RbacPolicy()
    authorization = Authorization(settings, policy, partial(_node_graph, state))
    state.follow(policy, *((RBAC, "v1", kind.value) for kind in RbacResource))
    webhooks = Webhooks(servers.client, servers.addresses)
    kubelets = ClientIdentity(
        settings.kubelet_client_certificate, settings.kubelet_client_key, settings.kubelet_certificate_authority
    )
    watches = OpenWatches(settings.max_watches_per_user)
    admission, manifests = _admission(settings, registry, state, authorization, webhooks)
    for each in (*manifests, *authorization.followed()):
        files.add(each)
    if kubelets.paths:
        files.add(Followed("certificates for kubelets", kubelets.paths, kubelets.reload))
    if state.encryption is not None:
        reloads = settings.encryption_provider_config_automatic_reload
        for database in (state.database, *dict.fromkeys(state.apart.values())):
            state.encryption.has_read_again(database, reloads)
        if reloads:
            files.add(state.encryption.followed())
    return Services(
        settings=settings,
        authenticator=authenticator_of(settings, state.objects, files, uses),
        authorizer=authorization.chain,
        policy=policy,
        database=state.database,
        stores=state.stores,
        apart=state.apart,
        admission=admission,
        limiter=_limiter(settings, state, watches),
        watches=watches,
        following=files,
        legacy_uses=uses,
        encryption=state.encryption,
        audit=audit,
        tracer=_tracer(settings),
        outbound=servers.client,
        webhooks=webhooks,
        kubelets=kubelets,
        foreign=NamespaceContents(servers.api_services, servers.discovered, servers.foreign),
        foreign_objects=servers.followed,
        media=media_of(registry.release.gates),
    )


def _admission(
    settings: Settings, registry: Registry, state: _State, authorization: Authorization, webhooks: Webhooks
) -> tuple[PluginParts, list[Followed]]:
    """The parts that admission plug-ins use, and the manifest files with more webhooks and policies."""
    configured = configure(
        settings.admission_control_config_file,
        settings.enable_admission_plugins,
        settings.disable_admission_plugins,
        lambda: registry,
    )
    policies = Policies(registry)
    hooks = AdmissionWebhooks(
        hooks_of(configured.get("MutatingAdmissionWebhook"), registry, webhooks),
        hooks_of(configured.get("ValidatingAdmissionWebhook"), registry, webhooks),
    )
    sorts = ("mutating", hooks.mutating, policies.mutating), ("validating", hooks.validating, policies.validating)
    for sort, of_sort, bound in sorts:
        state.follow(of_sort.configurations, (ADMISSION, "v1", f"{sort}webhookconfigurations"))
        if sort == "mutating" and not registry.release.gates.enabled("MutatingAdmissionPolicy"):
            continue  # policies that a later minor has stored must have no effect
        state.follow(bound.policies, (ADMISSION, "v1", f"{sort}admissionpolicies"))
        state.follow(bound.bindings, (ADMISSION, "v1", f"{sort}admissionpolicybindings"))
    parts = PluginParts(
        state.objects,
        authorization.chain,
        Charges(state.stores),
        configured,
        registry.by_kind,
        policies,
        hooks,
        (settings.default_not_ready_toleration_seconds, settings.default_unreachable_toleration_seconds),
        registry.release,
    )
    return parts, list(manifests_of(configured, hooks, policies, socket.gethostname()))


def _limiter(settings: Settings, state: _State, watches: OpenWatches) -> Limiter:
    limiter = limiter_of(settings, state.caches.size, watches)
    if isinstance(limiter, FlowControl):
        state.follow(limiter.configuration.schemas, (FLOW_CONTROL, "v1", SCHEMAS))
        state.follow(limiter.configuration.stored_levels, (FLOW_CONTROL, "v1", LEVELS))
    return limiter


def _node_graph(state: _State) -> NodeGraph:
    """The graph of the Node authorizer, which connects objects to nodes. Made only if the mode Node is used."""
    from gateway.access.nodes.graph import NodeGraph, VertexType

    graph = NodeGraph()
    state.follow(graph, *(kind.value for kind in VertexType if (*kind.value, "") in state.registry.resources))
    return graph


def _address(settings: Settings) -> str:
    """The host and port that discovery reports to clients."""
    host = settings.external_hostname or settings.advertise_address or "127.0.0.1"
    return f"{host}:{settings.secure_port}"


def _converter(webhooks: Webhooks, definition: JsonObject) -> ConversionWebhook | None:
    """The conversion webhook of a CustomResourceDefinition, None if it has none."""
    from gateway.customresources.conversion import webhook_of

    return webhook_of(definition, webhooks)


def _tracer(settings: Settings) -> Tracer | None:
    """The tracer of requests; None without --tracing-config-file."""
    path = settings.tracing_config_file
    if path is None:
        return None
    from gateway.tracing.configuration import read_tracing
    from gateway.tracing.tracer import Tracer

    return Tracer(read_tracing(path), socket.gethostname())


def encryption_of(settings: Settings, registry: Registry | None = None) -> Encryption | None:
    """Encryption at rest; None without --encryption-provider-config. `registry` has the built-in kinds.

    Raises OSError, InvalidConfiguration.
    """
    path = settings.encryption_provider_config
    if path is None:
        return None
    from gateway.encryption.encryption import Encryption
    from gateway.encryption.resources import keys_of

    keys = keys_of(registry or registry_of(settings), settings.etcd_prefix)
    return Encryption(path, keys, socket.gethostname())


def _audit(settings: Settings) -> Audit | None:
    """The audit log; None without --audit-policy-file."""
    if settings.audit_policy_file is None:
        return None
    from gateway.audit.audit import audit_of

    return audit_of(settings)
