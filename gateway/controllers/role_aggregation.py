"""Cluster roles that gather the rules of others (Kubernetes, "Using RBAC Authorization", "Aggregated ClusterRoles").

Every replica does this: what they write is the same, and who comes second finds nothing to do.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from gateway.access.rbac.policy import GROUP, Kind
from gateway.endpoints.endpoint import Endpoint
from gateway.endpoints.table import Endpoints
from gateway.http.status import StatusError
from gateway.http.user import AUTHENTICATED_GROUP, MASTERS_GROUP, User
from gateway.jsontypes import JsonObject, dumps
from gateway.selectors.labels import SelectorError, parse
from gateway.subresources.selector_text import selector_text
from gateway.writing.patching import APPLY, maker_of
from gateway.writing.updating import update_object
from gateway.writing.write import begin_as
from storage.entry import ChangeType
from storage.errors import StorageError
from storage.tap import Batch, State, tap

logger = logging.getLogger(__name__)

MANAGER = "clusterrole-aggregation-controller"
PAUSE = 1.0  # seconds until a write that failed is tried again
_SERVER = User("system:apiserver", (MASTERS_GROUP, AUTHENTICATED_GROUP))


async def aggregate_roles(endpoints: Endpoints) -> None:
    """Keeps the rules of aggregated cluster roles up to date, for as long as they are served."""
    endpoint = endpoints.of(GROUP, "v1", Kind.CLUSTER_ROLE.value)
    roles: dict[str, JsonObject] = {}
    async for batch in tap(endpoints.services.store.cache, [endpoint.cache]):
        _take(roles, batch)
        for name, rules in outdated(roles):
            await _write(endpoint, name, rules)


def _take(roles: dict[str, JsonObject], batch: Batch) -> None:
    if isinstance(batch, State):
        roles.clear()
        entries = [(entry, False) for found in batch.entries.values() for entry in found]
    else:
        entries = [(told.change.entry, told.change.type is ChangeType.DELETED) for told in batch.told]
    for entry, is_gone in entries:
        role = entry.parsed()
        name = role["metadata"]["name"]
        if is_gone:
            roles.pop(name, None)
        else:
            roles[name] = role


def outdated(roles: Mapping[str, JsonObject]) -> Iterator[tuple[str, list[JsonObject]]]:
    """The aggregated roles whose rules are not what they gather, with what that is."""
    for name, role in list(roles.items()):
        rule = role.get("aggregationRule")
        if rule is None:
            continue
        rules = list(gathered(name, rule.get("clusterRoleSelectors") or (), roles))
        if rules != (role.get("rules") or []):
            yield name, rules


def gathered(name: str, selectors: Iterable[JsonObject], roles: Mapping[str, JsonObject]) -> Iterator[JsonObject]:
    """The rules of all other roles that one of the selectors selects, each once, in the order of names."""
    seen: set[bytes] = set()
    for selector in selectors:
        try:
            matches = parse(selector_text(selector, plain=False))
        except SelectorError:
            continue
        for other in sorted(roles):
            if other == name or (matches and not matches(roles[other]["metadata"].get("labels") or {})):
                continue
            for rule in roles[other].get("rules") or ():
                text = dumps(rule)
                if text not in seen:
                    seen.add(text)
                    yield rule


async def _write(endpoint: Endpoint, name: str, rules: list[JsonObject]) -> None:
    """Applies the rules; tries again until that is done, or the role is gone or is not to be had so."""
    resource = endpoint.resource
    body = dumps(
        {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": name}, "rules": rules}
    )
    while True:
        write = begin_as(endpoint, _SERVER, "patch", "", name, MANAGER)
        write.options = replace(write.options, force=True)
        try:
            await update_object(write, maker_of(write, APPLY, body))
        except StorageError as error:
            logger.warning("cluster role is not aggregated yet", extra={"role": name, "error": str(error)})
            await asyncio.sleep(PAUSE)
            continue
        except StatusError as error:
            if error.reason != "NotFound":
                logger.warning("cluster role cannot be aggregated", extra={"role": name, "error": error.message})
        return
