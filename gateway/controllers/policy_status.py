"""Checks the types of validating admission policies' expressions, and says in their status what it finds."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from gateway.cel.builtin_types import declare_builtin
from gateway.cel.schema_types import Declared, declare
from gateway.cel.type_checking import TypedExpressions
from gateway.controllers.keyed import Keyed
from gateway.jsontypes import JsonObject
from gateway.kinds.identity import GroupVersion, GroupVersionKind
from gateway.kinds.registry import Registry
from gateway.kinds.resource import Resource
from gateway.schema.catalog import type_for
from storage.entry import Entry

GROUP, POLICIES = "admissionregistration.k8s.io", "validatingadmissionpolicies"
MANAGER = "validatingadmissionpolicy-status"
MOST_TYPES = 10  # of those that a rule is about


class PolicyStatus(Keyed):
    """The controller: each generation of a policy is looked at once."""

    queue_name = MANAGER
    resources = (POLICIES,)

    def seen(self, resource: str, entry: Entry) -> None:
        self.queue.add(entry.key)

    async def reconcile(self, key: bytes) -> None:
        policy = self.cached(key)
        if policy is None:
            return
        generation = policy["metadata"].get("generation", 0)
        if generation <= (policy.get("status") or {}).get("observedGeneration", 0):
            return
        registry = self.actor.endpoints.registry
        kinds = [(each.gvk, declared_type(each)) for each in checked_kinds(policy.get("spec") or {}, registry)]
        params = param_type(policy.get("spec") or {}, registry)
        warnings = await asyncio.to_thread(expression_warnings, policy.get("spec") or {}, kinds, params)
        checking = {"expressionWarnings": warnings} if warnings else {}
        status = {"observedGeneration": generation, "typeChecking": checking}
        endpoint = self.actor.of(GROUP, "v1", POLICIES, "status")
        await self.actor.apply(endpoint, "", policy["metadata"]["name"], {"status": status}, MANAGER)


def checked_kinds(spec: JsonObject, registry: Registry) -> list[Resource]:
    """What a policy is checked against: all that its rules name without wildcards, by group, version and kind."""
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
                # the core group's name is empty, which kube-controller-manager takes for any group
                served = [group] if group else list(registry.groups)
                resources = (registry.get(each, version, name) for each in served)
                yield from (each for each in resources if each is not None)


def declared_type(resource: Resource) -> Declared | None:
    """What expressions see in a resource's objects, None where nothing is known of them."""
    version = resource.model_version
    if version.openapi is None:
        return declare_builtin(version.type)
    declared = declare(version.openapi, root=True)
    metadata = declare_builtin(type_for("", "v1", "Namespace").fields["metadata"].type)
    if declared is not None and declared.fields is not None and metadata is not None:
        declared.fields["metadata"] = "metadata", metadata
    return declared


def param_type(spec: JsonObject, registry: Registry) -> Declared | None:
    """The same of a policy's parameters."""
    if (kind := spec.get("paramKind")) is None:
        return None
    version = GroupVersion.parse(kind.get("apiVersion", ""))
    resource = registry.by_kind(version.group, version.version, kind.get("kind", ""))
    return None if resource is None else declared_type(resource)


def expression_warnings(
    spec: JsonObject, kinds: list[tuple[GroupVersionKind, Declared | None]], params: Declared | None
) -> list[JsonObject]:
    """What does not fit the types of some kinds, in the order of the validations."""
    variables = [(each["name"], each["expression"]) for each in spec.get("variables") or ()]
    known = [
        (gvk, TypedExpressions(gvk.kind, of_object, params, params="paramKind" in spec, variables=variables))
        for gvk, of_object in kinds
    ]
    warnings = list[JsonObject]()
    for at, validation in enumerate(spec.get("validations") or ()):
        for field in ("expression", "messageExpression"):
            if not (text := validation.get(field)):
                continue
            found = [
                f"{gvk.group}/{gvk.version}, Kind={gvk.kind}: {problem}\n"
                for gvk, expressions in known
                if (problem := expressions.problem(text))
            ]
            if found:
                warnings.append({"fieldRef": f"spec.validations[{at}].{field}", "warning": "\n".join(found)})
    return warnings
