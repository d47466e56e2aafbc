"""Which etcd keeps which resource, by --etcd-servers-overrides.

What a quota counts is written in one transaction with the quota, controllers follow resources by one order of
revisions, and admission looks other objects up. So only what none of these concern may be in an etcd of its own: that
is what expires by itself, and is counted by no quota.
"""

from __future__ import annotations

from gateway.kinds.registry import Registry
from gateway.kinds.resource import Resource
from gateway.quotas.evaluators import evaluator_of
from gateway.settings.config import InvalidSettings, Settings
from storage.database import Database, database_of
from storage.etcd.transforming import Transformer

Servers = tuple[str, ...]


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
        if not _may_be_apart(resource):
            raise InvalidSettings(
                f"{named} cannot be kept in an etcd of its own: it is written, counted or followed together with "
                "others; events can be (/events)"
            )
        if resource.group != resource.model.group:
            raise InvalidSettings(f"{named} is stored as {resource.model.group}/{resource.resource}: name that")
        apart[resource.storage_prefix] = override.servers
    main = sorted(settings.etcd_servers)
    return {prefix: servers for prefix, servers in apart.items() if sorted(servers) != main}


def _may_be_apart(resource: Resource) -> bool:
    return resource.strategy.expires and evaluator_of(resource.group, resource.resource) is None


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
