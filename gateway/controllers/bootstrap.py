"""Creates at start the objects that every cluster has. Safe with many replicas: existing objects are not replaced."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import Awaitable, Callable, Iterable
from copy import deepcopy
from datetime import UTC, datetime, timedelta

from gateway.controllers.access_objects import AUTHENTICATION, access_objects, with_authentication
from gateway.controllers.api_service_objects import api_services
from gateway.controllers.bootstrap_objects import (
    BootstrapObject,
    advertised_endpoints,
    namespaces,
    priority_classes,
    service_network,
    with_address,
)
from gateway.controllers.bootstrap_roles import completed, default_roles
from gateway.controllers.flow_control_objects import flow_control
from gateway.endpoints.endpoint import Endpoint
from gateway.endpoints.table import EndpointTable
from gateway.http.status import StatusError
from gateway.http.user import ITSELF
from gateway.jsontypes import JsonObject
from gateway.kinds.metadata import now_text
from gateway.writing.actor import Actor
from gateway.writing.options import DeleteOptions
from storage.entry import Entry
from storage.errors import StorageError, Unavailable

# (present object, wanted object) -> the object to write; None if the present one may stay
Completed = Callable[[JsonObject, JsonObject], JsonObject | None]

logger = logging.getLogger(__name__)

REPAIR_EVERY = 10.0  # seconds
_KEPT = ("name", "namespace", "labels", "annotations")  # metadata that an object keeps when it is recreated
ORPHANED = timedelta(seconds=30)  # the age at which an IPAddress without its service is an orphan

# the names of this module's work in health checks and /metrics
BOOTSTRAP_HOOKS = (
    "start-system-namespaces-controller",
    "start-cluster-authentication-info-controller",
    "bootstrap-controller",
    "scheduling/bootstrap-system-priority-classes",
    "start-service-ip-repair-controllers",
    "rbac/bootstrap-roles",
    "start-kube-apiserver-identity-lease-controller",
    "start-kube-apiserver-identity-lease-garbage-collector",
    "start-kubernetes-service-cidr-controller",
    "start-legacy-token-tracking-controller",
)


async def bootstrap(endpoints: EndpointTable) -> None:
    """Creates the objects that are missing. To be called after the watch cache is loaded. Raises StorageError."""
    objects = BootstrapObjects(endpoints)
    await objects.create_needed()
    await _tell_of_access(endpoints, objects)
    await objects.join()


async def bootstrap_namespaces(endpoints: EndpointTable) -> None:
    """Creates the missing system namespaces: default roles are in them. Raises StorageError."""
    await BootstrapObjects(endpoints).create_missing(namespaces())


async def _tell_of_access(endpoints: EndpointTable, objects: BootstrapObjects) -> None:
    """Creates and completes the ConfigMaps of authentication. Raises StorageError, and OSError for the file of a CA."""
    for each in access_objects(endpoints.services.settings, now_text()):
        await objects.create_missing([each])
        if each.name == AUTHENTICATION:
            await objects.complete(each, with_authentication)


async def bootstrap_roles(endpoints: EndpointTable) -> bool:
    """Creates the missing default roles and bindings, and completes the present ones. Returns whether none was refused.

    Raises StorageError.
    """
    objects, roles = BootstrapObjects(endpoints), list(default_roles(endpoints.registry.release))
    await objects.create_missing(roles)
    for each in roles:
        await objects.complete(each, completed)
    return not objects.refused


async def keep_bootstrapped(endpoints: EndpointTable, stopping: asyncio.Event, furnished: asyncio.Event) -> None:
    """Creates the objects without which the server can start, and recreates all bootstrap objects that are deleted.

    `furnished` is set once all of them have existed.
    """
    objects = BootstrapObjects(endpoints)
    while not stopping.is_set():
        try:
            await objects.create_needed()
            await objects.create_missing([*flow_control(), *api_services(endpoints.registry.groups)])
            await _tell_of_access(endpoints, objects)
            furnished.set()
        except (StorageError, OSError) as error:
            level = logging.DEBUG if isinstance(error, Unavailable) else logging.WARNING  # the watch logs outages
            logger.log(level, "objects that every cluster has could not be made, trying again: %s", error)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stopping.wait(), REPAIR_EVERY)


LOOKS, LOOK = 20, 0.1  # the number of checks for an object that another process creates, and the seconds between them


class BootstrapObjects:
    """Writes bootstrap objects as the server's own user. A refused object is logged once, and not an error."""

    def __init__(self, endpoints: EndpointTable) -> None:
        self._endpoints, settings = endpoints, endpoints.services.settings
        self._address = settings.advertise_address or advertised(settings.bind_address)
        self._network = service_network(settings.service_cluster_ip_range, settings.secure_port)
        self._own = list(advertised_endpoints(self._address, settings.secure_port))
        self._refused: set[tuple[str, str, str, str]] = set()

    @property
    def refused(self) -> bool:
        """Whether the last write of any of them was refused."""
        return bool(self._refused)

    async def create_needed(self) -> None:
        """Creates the objects without which a cluster does not work. Raises StorageError."""
        await self.create_missing([*namespaces(), *priority_classes()])
        ranges, service, address = self._network
        await self.create_missing([ranges])
        if self._entry(service) is None:
            await self._written(address, self._release_orphan(address))
            await self.create_missing([service])
        if self._entry(service) is not None:  # the service has taken its address
            await self.create_missing([address])
        await self.create_missing(self._own)

    async def create_missing(self, objects: Iterable[BootstrapObject]) -> None:
        """Creates the objects that are missing. Raises StorageError."""
        await asyncio.gather(*(self._written(each, self._create(each)) for each in objects if not self._is_whole(each)))

    async def complete(self, wanted: BootstrapObject, completed: Completed) -> None:
        """Updates a present object by `completed(present, wanted)`. Raises StorageError."""
        entry = self._entry(wanted)
        made = None if entry is None or entry.readable is None else completed(entry.parsed(), wanted.content)
        if entry is None or made is None:
            return
        if made.get("roleRef") != entry.parsed().get("roleRef"):  # it can't be changed in place
            await self._written(wanted, self._replace(wanted, entry, made))
        else:
            await self._written(wanted, self._change(wanted, lambda obj: completed(obj, wanted.content)))

    async def join(self) -> None:
        """Adds this server's address to the Endpoints and EndpointSlice `kubernetes`. Raises StorageError."""
        for each in self._own:
            entry = self._entry(each)
            if entry is None or (
                entry.readable is not None and with_address(entry.parsed(), self._address) is not None
            ):
                await self._written(each, self._change(each, lambda obj: with_address(obj, self._address)))

    def _is_whole(self, wanted: BootstrapObject) -> bool:
        entry = self._entry(wanted)
        if entry is None:
            return False
        return wanted.status is None or entry.readable is None or bool(entry.parsed().get("status"))

    def _entry(self, wanted: BootstrapObject) -> Entry | None:
        endpoint = self._endpoint(wanted)
        return endpoint.store.cached_entry(endpoint.key(wanted.namespace, wanted.name))

    async def _create(self, wanted: BootstrapObject) -> None:
        """Creates an object and applies its status. Does not fail if another replica creates it first."""
        content = deepcopy(wanted.content)
        await self._actor(wanted.manager).create(self._endpoint(wanted), wanted.namespace, content)
        if wanted.status is not None:
            status, endpoint = {"status": wanted.status(now_text())}, self._endpoint(wanted, "status")
            await self._actor(wanted.status_manager).apply(endpoint, wanted.namespace, wanted.name, status)

    async def _change(self, wanted: BootstrapObject, change: Callable[[JsonObject], JsonObject | None]) -> None:
        def alter(obj: JsonObject) -> bool:
            changed = change(obj)
            obj.update(changed or {})
            return changed is not None

        await self._actor(wanted.manager).change(self._endpoint(wanted), wanted.namespace, wanted.name, alter)

    async def _replace(self, wanted: BootstrapObject, entry: Entry, made: JsonObject) -> None:
        endpoint, actor = self._endpoint(wanted), self._actor(wanted.manager)
        options = DeleteOptions(uid=entry.parsed()["metadata"]["uid"])
        await actor.delete(endpoint, wanted.namespace, wanted.name, options)
        meta = {key: made["metadata"][key] for key in _KEPT if key in made["metadata"]}
        await actor.create(endpoint, wanted.namespace, {**made, "metadata": meta})

    async def _release_orphan(self, address: BootstrapObject) -> None:
        """Deletes the IPAddress of a server that stopped between taking the address and creating the service."""
        entry = self._entry(address)
        if entry is None or entry.readable is None:
            return
        obj = entry.parsed()
        age = datetime.now(UTC) - datetime.fromisoformat(obj["metadata"]["creationTimestamp"])
        if obj["spec"] == address.content["spec"] and age > ORPHANED:
            options = DeleteOptions(uid=obj["metadata"]["uid"])
            await self._actor(address.manager).delete(self._endpoint(address), "", address.name, options)

    async def _written(self, wanted: BootstrapObject, writing: Awaitable[None]) -> None:
        """Awaits a write. Logs it once if it is refused."""
        name = (wanted.group, wanted.resource, wanted.namespace, wanted.name)
        try:
            await writing
        except StatusError as error:
            raced = wanted.resource == "services"  # another process may be creating it; other refusals are final
            if raced and name not in self._refused and await self._is_there_by_now(wanted):
                return
            if name not in self._refused:
                said = {"object": "/".join(name), "error": error.message}
                logger.warning("a default object of a cluster is refused", extra=said)
            self._refused.add(name)
        else:
            self._refused.discard(name)

    async def _is_there_by_now(self, wanted: BootstrapObject) -> bool:
        """Waits for another process to create the object. It may have taken the service's address first."""
        for _ in range(LOOKS):
            await self._endpoint(wanted).store.reads.fresh()
            if self._entry(wanted) is not None:
                return True
            await asyncio.sleep(LOOK)
        return False

    def _endpoint(self, wanted: BootstrapObject, subresource: str = "") -> Endpoint:
        return self._endpoints.of(wanted.group, wanted.version, wanted.resource, subresource)

    def _actor(self, manager: str) -> Actor:
        return Actor(self._endpoints, ITSELF, manager=manager)


def advertised(bind_address: str) -> str:
    """An address by which others reach this host: the bind address, or if that is any or loopback, the route's."""
    if bind_address not in ("", "0.0.0.0", "::", "127.0.0.1", "::1", "localhost"):
        return bind_address
    for family, elsewhere in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):
        with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((elsewhere, 9))  # sends no packet, but selects the route
            return str(probe.getsockname()[0])
    return "127.0.0.1"
