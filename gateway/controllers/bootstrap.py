"""Puts in place, at start, what every cluster has. Safe with many replicas: what is there already stays as it is."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import Callable, Iterable
from uuid import uuid4

from gateway.config import Settings
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
from gateway.endpoints.table import Endpoints
from gateway.jsontypes import JsonObject, loads
from gateway.kinds.metadata import now_text
from gateway.kinds.resource import Resource
from gateway.schema.encode import encode_stored
from storage.change import KEEP, Decision, Put, change
from storage.errors import KeyExists, StorageError, StoredObject

# (what is there, what is wanted) -> what it is to become, None where it may stay
Completed = Callable[[JsonObject, JsonObject], JsonObject | None]

logger = logging.getLogger(__name__)

REPAIR_EVERY = 10.0  # seconds

# what health checks and /metrics call the work done here
BOOTSTRAP_HOOKS = (
    "start-system-namespaces-controller",
    "bootstrap-controller",
    "scheduling/bootstrap-system-priority-classes",
    "start-service-ip-repair-controllers",
    "rbac/bootstrap-roles",
)


async def bootstrap(endpoints: Endpoints) -> None:
    """Creates what is missing; to be called once the cache is loaded. Raises StorageError."""
    settings = endpoints.services.settings
    address = settings.advertise_address or advertised(settings.bind_address)
    await _create_missing(endpoints, _needed(settings))
    for each in access_objects(settings, now_text()):
        await _create_missing(endpoints, [each])
        if each.name == AUTHENTICATION:
            await _complete(endpoints, each, with_authentication)
    own = list(advertised_endpoints(address, settings.secure_port))
    await _create_missing(endpoints, own)
    for each in own:
        await _join(endpoints, each, address)


def _needed(settings: Settings) -> list[BootstrapObject]:
    """What a cluster does not work without."""
    return [
        *namespaces(),
        *priority_classes(),
        *service_network(settings.service_cluster_ip_range, settings.secure_port, now_text()),
    ]


async def keep_bootstrapped(endpoints: Endpoints, stopping: asyncio.Event, furnished: asyncio.Event) -> None:
    """Creates what the server does not need in order to serve, and again whatever of it all somebody deletes.

    `furnished` is set once all of it has been there.
    """
    settings = endpoints.services.settings
    address = settings.advertise_address or advertised(settings.bind_address)
    while not stopping.is_set():
        objects = [
            *_needed(settings),
            *advertised_endpoints(address, settings.secure_port),
            *flow_control(),
            *api_services(now_text()),
        ]
        try:
            await _create_missing(endpoints, objects)
            furnished.set()
        except StorageError as error:
            logger.warning("objects that every cluster has are missing, they are tried again: %s", error)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stopping.wait(), REPAIR_EVERY)


async def _create_missing(endpoints: Endpoints, objects: Iterable[BootstrapObject]) -> None:
    missing = [each for each in objects if endpoints.services.store.cached(_key(endpoints, each)) is None]
    await asyncio.gather(*(_create(endpoints, each) for each in missing))


async def bootstrap_roles(endpoints: Endpoints) -> None:
    """Makes the default roles and bindings, and completes those that are there. Raises StorageError."""
    roles = list(default_roles())
    await _create_missing(endpoints, roles)
    for each in roles:
        await _complete(endpoints, each, completed)


async def _complete(endpoints: Endpoints, wanted: BootstrapObject, completed: Completed) -> None:
    resource = endpoints.registry.resources[wanted.group, wanted.version, wanted.resource, ""]
    key, store = _key(endpoints, wanted), endpoints.services.store
    cached = store.cached(key)
    if cached is None or cached.corrupt or completed(loads(cached.value), wanted.content) is None:
        return

    async def make(current: StoredObject | None) -> Decision:
        made = None if current is None else completed(loads(current.value), wanted.content)
        return KEEP if made is None else Put(encode_stored(made, resource.kind, resource.storage_version))

    await change(store, key, make)


async def _create(endpoints: Endpoints, wanted: BootstrapObject) -> None:
    resource = endpoints.registry.resources[wanted.group, wanted.version, wanted.resource, ""]
    obj = _managed(wanted, resource)
    try:
        value = encode_stored(obj, resource.kind, resource.storage_version)
        await endpoints.services.store.create(_key(endpoints, wanted), value)
    except KeyExists:
        return  # another replica was faster


def _managed(wanted: BootstrapObject, resource: Resource) -> JsonObject:
    """The new object, with its identity and its managed fields."""
    from gateway.apply import server_side_apply, update_managed
    from gateway.schema.catalog import type_of
    from gateway.schema.decode import DecodeReport, decode

    now, type_, api_version = now_text(), type_of(resource.type_name), resource.api_version
    metadata = {**wanted.content["metadata"], "uid": str(uuid4()), "creationTimestamp": now}
    obj = {**wanted.content, "metadata": metadata}
    plain = {name: value for name, value in obj.items() if name not in wanted.unowned}
    update_managed(plain, None, type_, manager=wanted.manager, api_version=api_version, now=now)
    obj["metadata"] = plain["metadata"]
    if wanted.status is None:
        return obj
    name = {"name": wanted.name}
    applied = server_side_apply(
        obj,
        {"apiVersion": api_version, "kind": resource.kind, "metadata": name, "status": wanted.status},
        type_,
        manager=wanted.status_manager,
        force=True,
        api_version=api_version,
        kind=resource.kind,
        subresource="status",
        now=now,
        reset=(("spec",),),
    )
    return decode(type_, applied, DecodeReport())


async def _join(endpoints: Endpoints, wanted: BootstrapObject, address: str) -> None:
    """Adds this server's address to an object that another replica has made."""
    resource = endpoints.registry.resources[wanted.group, wanted.version, wanted.resource, ""]

    async def make(current: StoredObject | None) -> Decision:
        changed = None if current is None else with_address(loads(current.value), address)
        if changed is None:
            return KEEP
        if "generation" in changed["metadata"]:
            changed["metadata"]["generation"] += 1
        return Put(encode_stored(changed, resource.kind, resource.storage_version))

    await change(endpoints.services.store, _key(endpoints, wanted), make)


def _key(endpoints: Endpoints, wanted: BootstrapObject) -> bytes:
    resource = endpoints.registry.resources[wanted.group, wanted.version, wanted.resource, ""]
    path = f"{wanted.namespace}/{wanted.name}" if resource.namespaced else wanted.name
    return f"{endpoints.services.settings.etcd_prefix}/{resource.storage_prefix}/{path}".encode()


def advertised(bind_address: str) -> str:
    """An address under which others can reach this host; the one it binds to unless that is any or loopback."""
    if bind_address not in ("", "0.0.0.0", "::", "127.0.0.1", "::1", "localhost"):
        return bind_address
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing; asks for the route
            return str(probe.getsockname()[0])
        except OSError:
            return "127.0.0.1"
