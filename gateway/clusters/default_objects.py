"""The objects that every control plane begins with. They are made once in a process by the usual steps of a write, in a
part of etcd that no control plane has; then they are a template.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress

from gateway.clusters.awake import Awake
from gateway.clusters.default_services import services
from gateway.clusters.definition import MADE
from gateway.clusters.templates import ClusterTemplate, template_of
from gateway.clusters.visitors import binding
from gateway.controllers.bootstrap import BootstrapObjects, bootstrap, bootstrap_roles
from gateway.controllers.table import wanted
from gateway.controllers.trust_bundles import can_be_published
from gateway.endpoints.table import EndpointTable
from gateway.jsontypes import JsonObject
from storage.cache import ResourceCache
from storage.errors import StorageError
from storage.etcd import EtcdClient
from storage.etcd.operations import delete, mod_revision_is, put
from storage.etcd.results import DeleteResult
from storage.keys import prefix_end
from storage.leading import Leading

_CONTROLLERS_TIMEOUT = 10.0  # seconds that the controllers have for their objects
_OF_NAMESPACES = {
    "serviceaccount-controller": ("serviceaccounts", "default"),
    "root-ca-certificate-publisher-controller": ("configmaps", "kube-root-ca.crt"),
}
"""What a controller makes in each namespace: the resource and the name."""
_AGGREGATION = "clusterrole-aggregation-controller"
_PUBLISHER = "kube-apiserver-serving-clustertrustbundle-publisher-controller"
_BUNDLES = "certificates.k8s.io", "v1", "clustertrustbundles"
_ROLES = "rbac.authorization.k8s.io", "v1", "clusterroles"

SCRATCH = "template"
"""The part in which they are made; no uid is equal to it."""
_MAKER = b"apiserver-gateway/maker"  # below it: of the process that makes them


async def is_made(client: EtcdClient, root: bytes) -> bool:
    """Whether a control plane has all objects that it begins with. Raises StorageError."""
    return await client.get(root + MADE) is not None


async def default_objects(scratch: Awake, leading: Leading) -> tuple[ClusterTemplate, bool]:
    """Makes the objects in a scratch control plane, and removes them. Returns them, and whether all default roles are
    among them. Raises Fenced, StorageError, OSError.

    A key reserves the scratch control plane for this process, because a former or next leader may make them at the same
    time.
    """
    endpoints, database = scratch.gateway.endpoints, scratch.database
    client, root = database.client, database.cache.root
    own = 0
    try:
        await clear(leading, root)
        maker = await leading.txn([mod_revision_is(root + _MAKER, 0)], [put(root + _MAKER, b"")])
        if not maker.succeeded:
            raise StorageError("another process makes the objects of control planes")
        own = maker.revision
        await scratch.begin()
        await bootstrap(endpoints)
        has_roles = await bootstrap_roles(endpoints)
        objects = BootstrapObjects(endpoints)
        await objects.create_missing([binding(), *services(endpoints.registry.groups)])
        has_roles = has_roles and not objects.refused
        scratch.lead(leading.fence)
        with suppress(TimeoutError):  # then each control plane's own controllers make what is missing
            async with asyncio.timeout(_CONTROLLERS_TIMEOUT):
                await _controlled(endpoints, wanted(scratch.gateway.settings.controllers))
        await database.store.reads.fresh()
        template = template_of(
            (entry.key.removeprefix(root), entry.stored().raw)
            for resource in database.cache
            for entry in resource.slice(0, len(resource))
        )
        kept = await client.get(root + _MAKER)
        if kept is None or kept.mod_revision != own:
            raise StorageError("another process has removed some of the objects of control planes")
        return template, has_roles
    finally:
        await scratch.end()
        if own:
            await leading.txn([mod_revision_is(root + _MAKER, own)], [delete(root, prefix_end(root))])


async def _controlled(endpoints: EndpointTable, controllers: Collection[str]) -> None:
    """Waits until these controllers have added their objects and rules: those of each namespace, the server's CA, the
    rules of aggregated roles.
    """
    for controller, (plural, name) in _OF_NAMESPACES.items():
        if controller not in controllers:
            continue
        for namespace in endpoints.of("", "v1", "namespaces").cache.all_entries():
            of_namespace = namespace.key.rpartition(b"/")[2]
            cache = endpoints.of("", "v1", plural).cache
            key = cache.spec.prefix + b"%b/%b" % (of_namespace, name.encode())
            await _until(cache, lambda cache=cache, key=key: cache.get(key) is not None)  # type: ignore[misc]
    registry = endpoints.registry
    is_served = registry.get(*_BUNDLES) and _BUNDLES not in registry.unserved
    if _PUBLISHER in controllers and is_served and can_be_published(endpoints.services.settings):
        bundles = endpoints.of(*_BUNDLES).cache
        await _until(bundles, lambda: len(bundles) > 0)
    roles = endpoints.of(*_ROLES).cache
    if _AGGREGATION in controllers:
        await _until(roles, lambda: _aggregated([each.parsed() for each in roles.all_entries()]))


def _aggregated(roles: Sequence[JsonObject]) -> bool:
    """Whether each role has the rules of all roles that it aggregates."""
    for role in roles:
        for selector in (role.get("aggregationRule") or {}).get("clusterRoleSelectors", ()):
            wanted, rules = selector["matchLabels"].items(), role.get("rules") or ()
            found = [each for each in roles if wanted <= (each["metadata"].get("labels") or {}).items()]
            if any(rule not in rules for each in found for rule in each.get("rules") or ()):
                return False
    return True


async def _until(cache: ResourceCache, holds: Callable[[], bool]) -> None:
    """Waits until a condition of a cache holds."""
    while not holds():
        waiter = cache.changes()
        try:
            await waiter
        finally:
            cache.forget(waiter)


async def clear_unmade(leading: Leading, root: bytes) -> None:
    """Removes objects that an earlier version left incomplete; does nothing if they are complete. Raises Fenced,
    StorageError.
    """
    await leading.txn([mod_revision_is(root + MADE, 0)], [delete(root, prefix_end(root))])


async def clear(leading: Leading, root: bytes) -> int:
    """Removes all keys below a root. Returns the revision, 0 if there were none. Raises Fenced, StorageError."""
    answer = await leading.txn([], [delete(root, prefix_end(root))])
    return answer.revision if any(isinstance(each, DeleteResult) and each.deleted for each in answer.results) else 0
