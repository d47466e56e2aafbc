"""One served version of a resource or subresource, with all parts for reading and writing it. They are made at first
use.

The route of a request holds its endpoint, so that stages need no lookups by name. An endpoint's resource never changes:
if a CRD changes, another endpoint replaces this one, which is retired (`gateway.endpoints.table`).
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Protocol
from weakref import WeakValueDictionary

from gateway.access.rbac.escalation import EscalationGuard
from gateway.access.signer_rights import SignerRights
from gateway.admission.chain import AdmissionChain
from gateway.admission.plugins import chain_for
from gateway.apply.in_versions import ToVersion
from gateway.apply.repetitions import Repeated
from gateway.encodings.encoder import Encoder, EndpointFacts
from gateway.encodings.registry import encoder_for
from gateway.endpoints.expiry import Expiry
from gateway.endpoints.hooks import WriteHooks
from gateway.endpoints.metrics import WatchMeasures
from gateway.endpoints.services import Services
from gateway.endpoints.versions import Versions
from gateway.endpoints.write_version import WriteVersion, write_version
from gateway.http.negotiation import JSON, Representation
from gateway.jsontypes import JsonObject, dumps, loads
from gateway.kinds.columns.model import Columns
from gateway.kinds.columns.registry import columns_of
from gateway.kinds.identity import GroupVersion, GroupVersionResource
from gateway.kinds.manager_versions import version_of_manager
from gateway.kinds.privileged_refusal import unprivileged
from gateway.kinds.resource import Resource
from gateway.kinds.stored_head import head_of
from gateway.kinds.strategy import Strategy
from gateway.release.gates import SHARDS, Enabled
from gateway.schema.decode import DecodeReport, decode
from gateway.schema.types import Type
from gateway.selectors.fields import Selectable
from storage.cache import ResourceCache
from storage.entry import METADATA

if TYPE_CHECKING:
    from gateway.access.device_rights import DeviceRights


class EndpointSiblings(Protocol):
    """The table of endpoints, as one endpoint needs it: a subresource finds that of its object there."""

    def of(self, group: str, version: str, resource: str, subresource: str = "") -> Endpoint:
        """The endpoint of a resource. Raises KeyError if it is not served."""

    def hooks_of(self, resource: Resource) -> WriteHooks | None:
        """The hooks that allocate before a write and release after it; None for most resources."""

    async def create_own(self, gvr: GroupVersionResource, namespace: str, obj: JsonObject) -> bool:
        """Creates an object as the server's own user; returns False if one of that name exists."""


class Endpoint:
    """One served version of a resource or subresource."""

    def __init__(
        self, resource: Resource, services: Services, siblings: EndpointSiblings, cache: ResourceCache | None
    ) -> None:
        self.resource, self.services, self.siblings = resource, services, siblings
        self.database = services.apart.get(resource.storage_prefix, services.database)
        self.store = self.database.store
        self.retired = False  # whether another endpoint, which decodes objects differently, has replaced it
        self.direct = False  # whether it reads from etcd, and not from the cache
        self.ended = False  # set some time after `retired`: its watches end
        self._cache = cache
        self._encoders: dict[Representation, Encoder] = {}
        self.versions = Versions(resource.model, GroupVersion(resource.group, resource.version))
        self.head = head_of(resource.kind, resource.api_version)

    @cached_property
    def views(self) -> WeakValueDictionary[object, object]:
        """The views of watches, by selection. Made by the first watch: most endpoints of a control plane have none."""
        return WeakValueDictionary()

    @property
    def cache(self) -> ResourceCache:
        """The cache of its objects. Raises LookupError if the resource is not stored."""
        if self._cache is None:
            raise LookupError(f"{self.resource.qualified} is not stored")
        return self._cache

    def without_cache(self) -> Endpoint:
        """An endpoint of the same resource that reads everything from etcd, for as long as the cache is not filled."""
        from storage.fill import DirectReads

        direct = copy(self)
        direct.store, direct.direct = self.store.reading(DirectReads(self.store.reads)), True
        return direct

    def end(self) -> None:
        """Ends its watches, after they have sent all changes until now."""
        self.ended = True
        if self._cache is not None:
            self._cache.wake_all()

    def key(self, namespace: str, name: str) -> bytes:
        """The etcd key of an object."""
        prefix = self.cache.spec.prefix
        return prefix + f"{namespace}/{name}".encode() if self.resource.namespaced else prefix + name.encode()

    def collection(self, namespace: str) -> bytes:
        """The etcd key prefix of a namespace's objects; of all objects if `namespace` is ""."""
        prefix = self.cache.spec.prefix
        return prefix + namespace.encode() + b"/" if namespace and self.resource.namespaced else prefix

    @cached_property
    def deprecation(self) -> str:
        """The deprecation warning of every answer; "" if the version is not deprecated."""
        return self.resource.model_version.warning

    # reading

    @cached_property
    def watch_measures(self) -> WatchMeasures:
        """The metrics of its watches."""
        return WatchMeasures(self.resource.group, self.resource.version, self.resource.resource)

    @cached_property
    def selectable(self) -> Selectable:
        """The fields that a field selector may name."""
        return self.resource.model_version.selectable

    @cached_property
    def sharded(self) -> bool:
        """Whether lists and watches take a shard selector."""
        return self.services.admission.release.gates.enabled(SHARDS)

    def encoder(self, representation: Representation) -> Encoder:
        """The encoder of its objects in a representation."""
        if representation is JSON:
            return self._json
        found = self._encoders.get(representation)
        if found is None:
            found = self._encoders[representation] = encoder_for(representation, self.shape)
        return found

    @cached_property
    def _json(self) -> Encoder:
        return encoder_for(JSON, self.shape)

    @cached_property
    def shape(self) -> EndpointFacts:
        """The facts about its kind that encoders need. They hold no reference to the endpoint, so that there is no
        reference cycle.
        """
        resource = self.resource
        list_head = (
            head_of(resource.model.list_kind or resource.kind + "List", resource.api_version)
            + METADATA
            + b'"resourceVersion":"'
        )
        return EndpointFacts(
            kind=resource.kind,
            api_version=resource.api_version,
            head=self.head,
            list_head=list_head,
            empty=partial(_empty, resource),
            type=lambda: resource.type,
            columns=partial(_columns, resource, self.services.admission.release.gates.enabled),
            in_version=partial(_converted, resource),
            custom=resource.custom,
            annotated_fields=resource.model_version.annotated_fields,
        )

    # writing

    @cached_property
    def written(self) -> WriteVersion:
        """The version in which writes see objects."""
        return write_version(self.resource, self.versions)

    @property
    def kind_group(self) -> str:
        """The API group of the kind in the version in which writes see it."""
        return self.written.api_version.rpartition("/")[0]

    @cached_property
    def type(self) -> Type:
        """The schema of the served version."""
        return self.resource.type

    @cached_property
    def strategy(self) -> Strategy:
        """The strategy of the kind, or of the subresource."""
        strategy = self.resource.strategy
        return strategy if self.services.settings.allow_privileged else unprivileged(strategy, self.resource)

    @cached_property
    def object_strategy(self) -> Strategy:
        """The strategy of the kind, also for a subresource."""
        return self.resource.object_strategy

    @cached_property
    def repeated(self) -> Repeated:
        """The digests of applies that are known to change nothing."""

        return Repeated()

    @cached_property
    def chain(self) -> AdmissionChain:
        """The admission plug-ins of its writes."""
        services = self.services
        enabled, disabled = services.settings.enable_admission_plugins, services.settings.disable_admission_plugins
        parts = replace(services.admission, create=self.siblings.create_own)
        always = ("control_plane_template",) if services.settings.control_planes else ()
        return chain_for(self.resource, enabled, disabled, parts, always)

    @cached_property
    def guard(self) -> EscalationGuard | None:
        """The check for privilege escalation; None for kinds other than RBAC roles and bindings."""
        if not self.object_strategy.grants_rights:
            return None
        return EscalationGuard(self.services.policy, self.services.authorizer)

    @cached_property
    def rights(self) -> DeviceRights | SignerRights | None:
        """The checks of additional rights for a write: to devices, or for a signer. None for most kinds."""
        if self.strategy.hands_out_devices:
            from gateway.access.device_rights import DeviceRights

            return DeviceRights(self.services.authorizer, self.services.admission.objects)
        if self.strategy.signs:
            return SignerRights(self.services.authorizer)
        return None

    @cached_property
    def hooks(self) -> WriteHooks | None:
        """The hooks that allocate before a write and release after it; None for most kinds."""
        return self.siblings.hooks_of(self.resource)

    @property
    def object_hooks(self) -> WriteHooks | None:
        """The hooks of the kind, also for a subresource."""
        return self.parent().hooks if self.resource.subresource else self.hooks

    @cached_property
    def expiry(self) -> Expiry | None:
        """The etcd leases for objects that expire, such as events; None for other kinds."""
        seconds = int(self.services.settings.event_ttl) if self.strategy.expires else 0
        return Expiry(self.database.client.leases, seconds) if seconds else None

    @cached_property
    def to_storage(self) -> Callable[[JsonObject], JsonObject] | None:
        """Converts an object from the served version to the one in which writes see it; None if they are the same."""
        return self._conversion(self.resource.api_version, self.written.api_version)

    @cached_property
    def from_storage(self) -> Callable[[JsonObject], JsonObject] | None:
        """Converts an object from the version in which writes see it to the served one; None if they are the same."""
        return self._conversion(self.written.api_version, self.resource.api_version)

    def _conversion(self, source: str, target: str) -> Callable[[JsonObject], JsonObject] | None:
        if source == target:
            return None
        convert, versions = self.resource.model.convert, (GroupVersion.parse(source), GroupVersion.parse(target))
        return lambda obj: convert(obj, *versions)

    @property
    def convert(self) -> ToVersion | None:
        """The function that converts an object to an apiVersion in managedFields; None for kinds with one version.

        That function raises ValueError if the converted object does not conform to the version's schema.
        """
        return None if self.resource.foreign_kind else self._in_version  # a Scale has one version

    def _in_version(self, obj: JsonObject, api_version: str) -> tuple[JsonObject, Type] | None:
        version = version_of_manager(self.resource, api_version)
        return None if version is None else self.written.for_manager(obj, version)

    def parse(self, value: bytes) -> JsonObject:
        """Parses a canonical value to an object."""
        obj: JsonObject = loads(value)
        return obj

    def served(self, obj: JsonObject) -> JsonObject:
        """Converts an object, from the version in which writes see it, to the served version."""
        return obj if self.from_storage is None else self.from_storage(obj)

    def parent(self) -> Endpoint:
        """The endpoint of the objects that a subresource belongs to."""
        resource = self.resource
        return self.siblings.of(resource.group, resource.version, resource.resource)


def _columns(resource: Resource, enabled: Enabled) -> Columns:
    from gateway.kinds.columns.custom import SCALE, custom_columns

    if resource.custom:
        return custom_columns(resource.model_version.columns)
    if resource.defined and resource.foreign_kind:
        return SCALE
    return columns_of(resource.kind_group, resource.kind, enabled)


def _converted(resource: Resource, obj: JsonObject, api_version: str) -> JsonObject:
    return resource.model.convert(obj, GroupVersion.parse(obj["apiVersion"]), GroupVersion.parse(api_version))


def _empty(resource: Resource) -> bytes:
    obj = decode(resource.type, {}, DecodeReport())
    rest = dumps({key: value for key, value in obj.items() if key != "metadata"})
    return b"," + rest[1:] if len(rest) > 2 else b"}"
