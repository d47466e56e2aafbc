"""Sets the rules of aggregated ClusterRoles (Kubernetes, "Using RBAC Authorization", "Aggregated ClusterRoles")."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from gateway.access.rbac.policy import GROUP, RbacResource
from gateway.controllers.keyed_controller import KeyedController
from gateway.jsontypes import JsonObject, dumps
from gateway.selectors.labels import SelectorError, parse
from gateway.subresources.selector_text import selector_text
from storage.entry import Entry

MANAGER = "clusterrole-aggregation-controller"


class RoleAggregation(KeyedController):
    """The controller. Its queue has one key for all roles, because each change may affect every aggregated role."""

    queue_name = "ClusterRoleAggregator"
    resources = ("clusterroles",)
    workers = 1

    def on_update(self, resource: str, entry: Entry) -> None:
        self.queue.add(self.key(resource, ""))

    def on_delete(self, resource: str, entry: Entry) -> None:
        self.queue.add(self.key(resource, ""))

    async def reconcile(self, key: bytes) -> None:
        roles = {entry.key[len(key) :].decode(): entry.parsed() for entry in self.entries("clusterroles")}
        endpoint = self.actor.of(GROUP, "v1", RbacResource.CLUSTER_ROLE.value)
        for name, rules in outdated(roles):
            await self.actor.apply(endpoint, "", name, {"rules": rules}, MANAGER)


def outdated(roles: Mapping[str, JsonObject]) -> Iterator[tuple[str, list[JsonObject]]]:
    """The names of aggregated roles with outdated rules, each with the right rules."""
    for name, role in list(roles.items()):
        rule = role.get("aggregationRule")
        if rule is None:
            continue
        rules = list(gathered(name, rule.get("clusterRoleSelectors") or (), roles))
        if rules != (role.get("rules") or []):
            yield name, rules


def gathered(name: str, selectors: Iterable[JsonObject], roles: Mapping[str, JsonObject]) -> Iterator[JsonObject]:
    """The distinct rules of all other roles that a selector selects, by selector and then by role name."""
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
