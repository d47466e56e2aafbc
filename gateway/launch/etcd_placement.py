"""Which etcd stores which resource, by --etcd-servers-overrides.

kube-apiserver accepts any group and resource. It ignores the flag for CustomResourceDefinitions, custom resources and
APIServices. This server refuses the flag for these. It also refuses it for resources that decide about all requests,
such as RBAC roles: without their etcd, no request could be decided.
"""

from __future__ import annotations

from gateway.endpoints.services import Services
from gateway.kinds.registry import Registry
from gateway.settings.config import InvalidSettings, Settings
from storage.database import Database, database_of
from storage.etcd.transformer import Transformer

Servers = tuple[str, ...]

_DECIDES = "it decides about requests for all etcds"
_INNER = "kube-apiserver stores it in --etcd-servers, too"
# why a resource must be in the main etcd, by (group, resource), or by (group, "") for the whole group
_TOGETHER = {
    ("", "namespaces"): "a namespace contains objects of all etcds",
    ("admissionregistration.k8s.io", ""): _DECIDES,
    ("apiextensions.k8s.io", ""): _INNER,
    ("apiregistration.k8s.io", ""): _INNER,
    ("flowcontrol.apiserver.k8s.io", ""): _DECIDES,
    ("rbac.authorization.k8s.io", ""): _DECIDES,
}
_OF_CLIENTS = frozenset({"events", "leases"})  # storage prefixes of resources that the server does not need for a start


def servers_apart(settings: Settings, registry: Registry) -> dict[str, Servers]:
    """The endpoints of each etcd other than that of --etcd-servers, by the storage prefix of the resource stored there.

    Raises InvalidSettings for resources that do not exist, or that must be stored in the main etcd.
    """
    apart: dict[str, Servers] = {}
    for override in settings.etcd_servers_overrides:
        resource = registry.preferred(override.group, override.resource)
        named = f"--etcd-servers-overrides: {override.group}/{override.resource}"
        if resource is None or not resource.storage_prefix:
            raise InvalidSettings(f"{named} is not a stored resource; give GROUP/RESOURCE, such as /events")
        if reason := _TOGETHER.get((resource.group, resource.resource)) or _TOGETHER.get((resource.group, "")):
            raise InvalidSettings(f"{named} must be in the etcd of --etcd-servers: {reason}")
        if resource.group != resource.model.group:
            raise InvalidSettings(f"{named} is stored as {resource.model.group}/{resource.resource}: give that name")
        apart[resource.storage_prefix] = override.servers
    main = sorted(settings.etcd_servers)
    return {prefix: servers for prefix, servers in apart.items() if sorted(servers) != main}


def first_needed(services: Services) -> list[Database]:
    """The etcds that a server needs for its start: all except those that store only events and leases."""
    needed = {each for prefix, each in services.apart.items() if prefix not in _OF_CLIENTS}
    return [each for each in services.databases if each is services.database or each in needed]


def databases_apart(
    settings: Settings, registry: Registry, root: bytes, transformer: Transformer | None
) -> dict[str, Database]:
    """The etcds other than that of --etcd-servers, by the storage prefix of the resource stored there.

    Resources with the same endpoints share one Database. `root` is the prefix of all keys. To be called on the event
    loop.
    """
    made: dict[Servers, Database] = {}
    apart: dict[str, Database] = {}
    for prefix, servers in servers_apart(settings, registry).items():
        place = tuple(sorted(servers))
        if place not in made:
            made[place] = database_of(settings.etcd(servers), root, transformer)
        apart[prefix] = made[place]
    return apart
