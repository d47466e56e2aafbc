"""Random webhook configurations, policies and bindings, each about the objects of one group of cases."""

from __future__ import annotations

import random
from typing import Any

from .expressions import annotation, condition, message, mutation, value
from .hooks import Hooks

Json = dict[str, Any]

PATH = "/apis/admissionregistration.k8s.io/v1"
_GROUPS = (("",), ("apps",), ("fuzz.example.com",), ("*",), ("", "apps"))
_VERSIONS = (("*",), ("*",), ("v1",), ("v2",), ("v1", "v2"))
_RESOURCES = (
    *(("*",), ("*",), ("*/*",), ("configmaps",), ("pods",), ("deployments", "deployments/scale"), ("gadgets",)),
    *(("gadgets/*",), ("*/status",), ("*/scale",), ("configmaps", "gadgets", "pods", "deployments")),
)
_OPERATIONS = (("*",), ("*",), ("CREATE",), ("CREATE", "UPDATE"), ("UPDATE",), ("DELETE",), ("CREATE", "DELETE"))


def rule(rng: random.Random, *, deletes: bool = True) -> Json:
    """A random rule. A mutating policy may not match deletions."""
    groups, versions, resources = rng.choice(_GROUPS), rng.choice(_VERSIONS), rng.choice(_RESOURCES)
    operations = [each for each in rng.choice(_OPERATIONS) if deletes or each not in ("DELETE", "*")]
    made: Json = {"apiGroups": list(groups), "apiVersions": list(versions), "resources": list(resources)}
    made["operations"] = operations or ["CREATE", "UPDATE"]
    if rng.random() < 0.2:
        made["scope"] = rng.choice(("*", "Namespaced", "Cluster"))
    return made


def _selectors(rng: random.Random, group: str) -> Json:
    made: Json = {"objectSelector": {"matchLabels": {"g": group}}}
    if rng.random() < 0.15:
        made["objectSelector"]["matchExpressions"] = [
            {"key": "env", "operator": rng.choice(("Exists", "DoesNotExist"))}
        ]
    if rng.random() < 0.2:
        operator, values = rng.choice((("In", ["prod"]), ("NotIn", ["prod"]), ("Exists", None)))
        term = {"key": "env", "operator": operator, **({"values": values} if values else {})}
        made["namespaceSelector"] = {"matchExpressions": [term]}
    if rng.random() < 0.3:
        made["matchPolicy"] = rng.choice(("Exact", "Equivalent"))
    return made


def _conditions(rng: random.Random, **kinds: bool) -> Json:
    if rng.random() < 0.6:
        return {}
    count = rng.randrange(1, 4)
    return {"matchConditions": [{"name": f"c{i}", "expression": condition(rng, **kinds)} for i in range(count)]}


def webhooks(rng: random.Random, group: str, number: int, hooks: Hooks, side: str) -> list[tuple[str, Json]]:
    """At most one configuration of each type, for one of the two servers: only the URLs differ."""
    made = []
    for half in ("mutating", "validating"):
        if rng.random() < 0.5:
            continue
        found = []
        for i in range(rng.randrange(1, 3)):
            seed = f"{group}/{number}/{half}/{i}/{rng.random()}"
            hook: Json = {
                "name": f"h{i}.example.com",
                "clientConfig": hooks.client(side, half, seed),
                "rules": [rule(rng) for _ in range(rng.randrange(1, 3))],
                "sideEffects": rng.choice(("None", "None", "NoneOnDryRun")),
                "admissionReviewVersions": rng.choice((["v1"], ["v1"], ["v1beta1"], ["v1beta1", "v1"], ["v0", "v1"])),
                **_selectors(rng, group),
                **_conditions(rng),
            }
            if rng.random() < 0.4:
                hook["failurePolicy"] = rng.choice(("Ignore", "Fail"))
            if half == "mutating" and rng.random() < 0.4:
                hook["reinvocationPolicy"] = "IfNeeded"
            found.append(hook)
        plural = f"{half}webhookconfigurations"
        made.append((plural, {"metadata": {"name": f"w{number:04}"}, "webhooks": found}))
    return made


def policies(rng: random.Random, group: str, number: int) -> list[tuple[str, Json]]:
    """At most one policy of each type, and its bindings."""
    made: list[tuple[str, Json]] = []
    for half in ("validating", "mutating"):
        if rng.random() < 0.35:
            continue
        params, variables = rng.random() < 0.35, rng.random() < 0.4
        spec: Json = {"matchConstraints": {"resourceRules": [], **_selectors(rng, group)}}
        mutating = half == "mutating"
        for _ in range(rng.randrange(1, 3)):
            one = rule(rng, deletes=not mutating)
            if rng.random() < 0.1:
                one["resourceNames"] = ["a", "new"]
            spec["matchConstraints"]["resourceRules"].append(one)
        if rng.random() < 0.1:
            spec["matchConstraints"]["excludeResourceRules"] = [rule(rng, deletes=not mutating)]
        if params:
            spec["paramKind"] = {"apiVersion": "v1", "kind": "ConfigMap"}
        if variables:
            spec["variables"] = [{"name": f"v{i}", "expression": value(rng)} for i in range(3)]
        if rng.random() < 0.4:
            spec["failurePolicy"] = rng.choice(("Ignore", "Fail"))
        spec |= _conditions(rng, params=params, variables=variables)
        if mutating:
            spec["mutations"] = [mutation(rng) for _ in range(rng.randrange(1, 3))]
            spec["reinvocationPolicy"] = rng.choice(("Never", "IfNeeded"))
        else:
            spec |= _validations(rng, params, variables)
        name = f"p{number:04}"
        made.append((f"{half}admissionpolicies", {"metadata": {"name": name}, "spec": spec}))
        for i in range(rng.choice((1, 1, 2))):
            made.append((f"{half}admissionpolicybindings", _binding(rng, f"{name}-{i}", name, group, params, mutating)))
    return made


def _validations(rng: random.Random, params: bool, variables: bool) -> Json:
    validations = []
    for _ in range(rng.randrange(1, 4)):
        one: Json = {"expression": condition(rng, params=params, variables=variables)}
        if rng.random() < 0.4:
            one["message"] = rng.choice(("plain message", "  spaced  ", "ends."))
        if rng.random() < 0.35:
            one["messageExpression"] = message(rng)
        if rng.random() < 0.3:
            one["reason"] = rng.choice(("Forbidden", "Invalid", "RequestEntityTooLarge", "Unauthorized"))
        validations.append(one)
    made: Json = {"validations": validations}
    if rng.random() < 0.3:
        made["auditAnnotations"] = [{"key": f"k{i}", "valueExpression": annotation(rng)} for i in range(2)]
    return made


def _binding(rng: random.Random, name: str, policy: str, group: str, params: bool, mutating: bool) -> Json:
    spec: Json = {"policyName": policy}
    if not mutating:
        spec["validationActions"] = rng.choice(
            (["Deny"], ["Deny"], ["Warn"], ["Audit"], ["Deny", "Audit"], ["Warn", "Audit"])
        )
    if (params and rng.random() < 0.85) or rng.random() < 0.05:
        reference: Json = {"parameterNotFoundAction": rng.choice(("Allow", "Deny"))}
        if rng.random() < 0.6:
            reference["name"] = rng.choice(("limit", "limit", "missing"))
        else:
            reference["selector"] = {"matchLabels": {"param": rng.choice(("yes", "no"))}}
        if rng.random() < 0.6:
            reference["namespace"] = "fuzz-params"
        spec["paramRef"] = reference
    if rng.random() < 0.3:
        spec["matchResources"] = _selectors(rng, group)
        if rng.random() < 0.4:
            spec["matchResources"]["resourceRules"] = [rule(rng, deletes=not mutating)]
    return {"metadata": {"name": name}, "spec": spec}
