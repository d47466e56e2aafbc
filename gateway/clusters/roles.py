"""Gives a control plane the default roles and APIServices of this server, if an earlier version, or minor, has made it.

kube-apiserver does so at each start. A control plane does so when it is loaded, once for each content of the default
roles and APIServices: its key `made`, or the key that is written here, has the digest of those that it has.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import cached_property
from hashlib import sha256

from gateway.clusters.default_services import services
from gateway.controllers.bootstrap import BootstrapObjects, bootstrap_roles
from gateway.controllers.bootstrap_roles import default_roles
from gateway.endpoints.table import EndpointTable
from gateway.jsontypes import dumps, loads
from gateway.kinds.registry import Registry
from gateway.release.release import Release
from storage.change import KEEP, Decision, Put, change
from storage.common import PartCache
from storage.database import Database
from storage.errors import StorageError, StoredObject

logger = logging.getLogger(__name__)

ROLES = b"apiserver-gateway/roles"
"""Below the root of a control plane: the digest of the default roles that it has, if the key `made` has another one."""


class DefaultRoles:
    """The default roles of a release, and the APIServices of the groups and versions that are served."""

    def __init__(self, release: Release, groups: Mapping[str, Sequence[str]]) -> None:
        self._release, self._groups = release, groups

    @cached_property
    def digest(self) -> str:
        """Names their content."""
        wanted = *default_roles(self._release), *services(self._groups)
        return sha256(dumps([each.content for each in wanted])).hexdigest()[:16]

    async def complete(self, endpoints: EndpointTable, database: Database) -> None:
        """Creates missing default roles and APIServices, and adds missing rules to the other default roles.

        If etcd fails, or a policy of the control plane refuses an object, the next load of the control plane does it.
        """
        if _made_with(database) == self.digest:
            return
        value = self.digest.encode()

        async def written(current: StoredObject | None) -> Decision:
            return KEEP if current is not None and current.value == value else Put(value)

        try:
            if await known(database) == self.digest:
                return
            objects = BootstrapObjects(endpoints)
            await objects.create_missing(services(self._groups))
            if await bootstrap_roles(endpoints) and not objects.refused:
                await change(database.store, database.cache.root + ROLES, written)
        except StorageError as error:
            logger.warning("default roles of a control plane could not be completed: %s", error)


class RolesOfVersions:
    """The default roles of the versions of Kubernetes that control planes serve."""

    def __init__(self) -> None:
        self._known: dict[str, DefaultRoles] = {}

    def of(self, version: str, registry: Registry) -> DefaultRoles:
        """Those of a version, "" for that of the server; `registry` is of a control plane that serves it."""
        found = self._known.get(version)
        if found is None:
            groups = {group: tuple(versions) for group, versions in registry.groups.items()}
            found = self._known[version] = DefaultRoles(registry.release, groups)
        return found


async def known(database: Database) -> str:
    """The digest of the default roles that a control plane has; "" if it is not known. Raises StorageError."""
    found = await database.store.get(database.cache.root + ROLES)
    return _made_with(database) if found is None else found.value.decode()


def _made_with(database: Database) -> str:
    seeds = database.cache.seeds if isinstance(database.cache, PartCache) else None
    return "" if seeds is None else digest_in(seeds.born.value)


def digest_in(made: bytes) -> str:
    """The digest of the default roles in the value of a key `made`; "" if it has none."""
    return str(loads(made).get("roles", "")) if made else ""
