"""The compiled matcher agrees with a simple one, for random configurations."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gateway.admission.matcher import Constraints, Matcher, MatchTarget
from gateway.kinds.attributes import Operation
from gateway.kinds.builtin import builtin_registry
from gateway.kinds.resource import Resource

REGISTRY = builtin_registry()
SERVED = [
    each
    for each in REGISTRY.resources.values()
    if each.resource in ("pods", "events", "horizontalpodautoscalers", "deployments", "namespaces", "nodes")
]

some = st.sampled_from
rules = st.fixed_dictionaries(
    {
        "apiGroups": st.lists(some(["", "*", "apps", "autoscaling", "events.k8s.io"]), min_size=1, max_size=2),
        "apiVersions": st.lists(some(["v1", "*", "v2"]), min_size=1, max_size=2),
        "resources": st.lists(
            some(
                ["*", "*/*", "pods", "pods/*", "pods/status", "*/scale", "events", "horizontalpodautoscalers", "nodes"]
            ),
            min_size=1,
            max_size=3,
        ),
        "operations": st.lists(some(["*", "CREATE", "UPDATE", "DELETE", "CONNECT"]), min_size=1, max_size=2),
        "scope": some(["*", "Cluster", "Namespaced"]),
    },
    optional={"resourceNames": st.lists(some(["a", "b"]), max_size=2)},
)
constraints = st.fixed_dictionaries(
    {"resourceRules": st.lists(rules, max_size=3), "matchPolicy": some(["Exact", "Equivalent"])},
    optional={"excludeResourceRules": st.lists(rules, max_size=2)},
)


def covers(rule: dict[str, Any], resource: Resource, operation: Operation, name: str) -> bool:
    """As the documentation says it, one sentence after the other."""
    if "*" not in rule["operations"] and operation.value not in rule["operations"]:
        return False
    if "*" not in rule["apiGroups"] and resource.group not in rule["apiGroups"]:
        return False
    if "*" not in rule["apiVersions"] and resource.version not in rule["apiVersions"]:
        return False
    if rule["scope"] == "Cluster" and resource.namespaced:
        return False
    if rule["scope"] == "Namespaced" and not resource.namespaced:
        return False
    if rule.get("resourceNames") and name not in rule["resourceNames"]:
        return False
    for named in rule["resources"]:
        plural, _, subresource = named.partition("/")
        if plural in ("*", resource.resource) and subresource in ("*", resource.subresource):
            return True
    return False


def read(given: dict[str, Any], resource: Resource, operation: Operation, name: str) -> MatchTarget | None:
    """The result of the rules, computed without any cache."""
    same = [
        each
        for each in REGISTRY.resources.values()
        if each.storage_prefix == resource.storage_prefix != "" and each.subresource == resource.subresource
    ]
    others = [each for each in same if each.gvr != resource.gvr] if given["matchPolicy"] == "Equivalent" else []
    for rule in given.get("excludeResourceRules", ()):
        if any(covers(rule, each, operation, name) for each in (resource, *others)):
            return None
    for rule in given["resourceRules"]:
        if covers(rule, resource, operation, name):
            return MatchTarget(resource.gvr, resource.gvk)
    for rule in given["resourceRules"]:
        for each in others:
            if covers(rule, each, operation, name):
                return MatchTarget(each.gvr, each.gvk)
    return None


@given(st.lists(constraints, max_size=4), some(SERVED), some(list(Operation)), some(["a", "b", "c", ""]))
def test_the_matcher_says_what_the_rules_say(
    given: list[dict[str, Any]], resource: Resource, operation: Operation, name: str
) -> None:
    matcher = Matcher([(i, Constraints.of(each)) for i, each in enumerate(given)], REGISTRY)
    for _ in range(2):  # found, and remembered
        found = {each.hook: target for each in matcher.of(resource, operation) if (target := each.target(name))}
        plainly = {i: target for i, each in enumerate(given) if (target := read(each, resource, operation, name))}
        assert found == plainly
        assert list(found) == sorted(found)
