"""Type-checks the expressions of ValidatingAdmissionPolicies, and writes the warnings into their status."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from importlib import import_module

from gateway.controllers.keyed_controller import KeyedController
from gateway.jsontypes import JsonObject
from gateway.kinds.identity import GroupVersionKind
from gateway.kinds.registry import Registry
from gateway.kinds.resource import Resource
from storage.entry import Entry

GROUP, POLICIES = "admissionregistration.k8s.io", "validatingadmissionpolicies"
MANAGER = "validatingadmissionpolicy-status"
MOST_TYPES = 10  # the greatest number of kinds of one rule that are checked


class PolicyStatus(KeyedController):
    """The controller. It checks each generation of a policy once."""

    queue_name = MANAGER
    resources = (POLICIES,)

    def on_update(self, resource: str, entry: Entry) -> None:
        self.queue.add(entry.key)

    async def reconcile(self, key: bytes) -> None:
        policy = self.cached(key)
        if policy is None:
            return
        generation = policy["metadata"].get("generation", 0)
        if generation <= (policy.get("status") or {}).get("observedGeneration", 0):
            return
        spec, registry = policy.get("spec") or {}, self.actor.endpoints.registry
        # CEL is imported with the first policy, in a thread: the import would block the event loop
        await asyncio.to_thread(import_module, "gateway.controllers.policy_types")
        from gateway.controllers.policy_types import declared_type, expression_warnings, param_type

        kinds = [(each.gvk, declared_type(each)) for each in checked_kinds(spec, registry)]
        params = param_type(spec, registry)
        warnings = await asyncio.to_thread(expression_warnings, spec, kinds, params)
        checking = {"expressionWarnings": warnings} if warnings else {}
        status = {"observedGeneration": generation, "typeChecking": checking}
        endpoint = self.actor.of(GROUP, "v1", POLICIES, "status")
        await self.actor.apply(endpoint, "", policy["metadata"]["name"], {"status": status}, MANAGER)


def checked_kinds(spec: JsonObject, registry: Registry) -> list[Resource]:
    """The resources whose kinds a policy is checked against: those that its rules name without wildcards, sorted.

    As soon as one rule has MOST_TYPES resources, further ones and further rules are ignored.
    """
    found: dict[GroupVersionKind, Resource] = {}
    for rule in (spec.get("matchConstraints") or {}).get("resourceRules") or ():
        for count, resource in enumerate(_named(rule, registry), 1):
            found[resource.gvk] = resource
            if count == MOST_TYPES:
                return [found[gvk] for gvk in sorted(found)]
    return [found[gvk] for gvk in sorted(found)]


def _named(rule: JsonObject, registry: Registry) -> Iterator[Resource]:
    groups, versions = sorted(rule.get("apiGroups") or ()), sorted(rule.get("apiVersions") or ())
    names = sorted(each for each in rule.get("resources") or () if "*" not in each and "/" not in each)
    if any("*" in each for each in (*groups, *versions)):
        return
    for group in groups:
        for version in versions:
            for name in names:
                # as in kube-controller-manager, "" stands for any group, not only for the core group
                served = [group] if group else list(registry.groups)
                resources = (registry.get(each, version, name) for each in served)
                yield from (each for each in resources if each is not None)
