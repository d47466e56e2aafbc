"""Which etcd keeps which resource, by --etcd-servers-overrides.

kube-apiserver takes any group and resource, and keeps the built-in ones elsewhere but for those of its inner servers
(CustomResourceDefinitions, custom resources, APIServices), for which it ignores the flag. Here these are refused, and
so is what decides about requests for all etcds: while its own was away, nobody could be told what may be done.
"""

from __future__ import annotations

from gateway.endpoints.services import Services
from gateway.kinds.registry import Registry
from gateway.settings.config import InvalidSettings, Settings
from storage.database import Database, database_of
from storage.etcd.transforming import Transformer

Servers = tuple[str, ...]

_DECIDES = "it decides about requests for what is in every etcd"
_INNER = "kube-apiserver too keeps it where --etcd-servers says"
# by group and resource, or by group
_TOGETHER = {
    ("", "namespaces"): "what is in every etcd lives and ends with it",
    ("admissionregistration.k8s.io", ""): _DECIDES,
    ("apiextensions.k8s.io", ""): _INNER,
    ("apiregistration.k8s.io", ""): _INNER,
    ("flowcontrol.apiserver.k8s.io", ""): _DECIDES,
    ("rbac.authorization.k8s.io", ""): _DECIDES,
}
_OF_CLIENTS = frozenset({"events", "leases"})  # storage prefixes


def servers_apart(settings: Settings, registry: Registry) -> dict[str, Servers]:
    """The servers of etcds other than the one of --etcd-servers, by the storage prefix of what is kept there.

    Raises InvalidSettings for resources that there are not, or that cannot be kept apart.
    """
    apart: dict[str, Servers] = {}
    for override in settings.etcd_servers_overrides:
        resource = registry.preferred(override.group, override.resource)
        named = f"--etcd-servers-overrides: {override.group}/{override.resource}"
        if resource is None or not resource.storage_prefix:
            raise InvalidSettings(f"{named} is no resource that is stored; events are /events")
        if reason := _TOGETHER.get((resource.group, resource.resource)) or _TOGETHER.get((resource.group, "")):
            raise InvalidSettings(f"{named} cannot be kept in an etcd of its own: {reason}")
        if resource.group != resource.model.group:
            raise InvalidSettings(f"{named} is stored as {resource.model.group}/{resource.resource}: name that")
        apart[resource.storage_prefix] = override.servers
    main = sorted(settings.etcd_servers)
    return {prefix: servers for prefix, servers in apart.items() if sorted(servers) != main}


def first_needed(services: Services) -> list[Database]:
    """The etcds without which a server cannot begin: all but those of which nothing but clients needs anything."""
    needed = {each for prefix, each in services.apart.items() if prefix not in _OF_CLIENTS}
    return [each for each in services.databases if each is services.database or each in needed]


def databases_apart(
    settings: Settings, registry: Registry, root: bytes, transformer: Transformer | None
) -> dict[str, Database]:
    """The etcds other than that of --etcd-servers, by the storage prefix of what is kept there; on an event loop.

    Resources whose servers are the same share one. `root` is what all keys start with.
    """
    made: dict[Servers, Database] = {}
    apart: dict[str, Database] = {}
    for prefix, servers in servers_apart(settings, registry).items():
        place = tuple(sorted(servers))
        if place not in made:
            made[place] = database_of(settings.etcd(servers), root, transformer)
        apart[prefix] = made[place]
    return apart
