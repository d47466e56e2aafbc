"""Which rules match a write: wildcards, scope, equivalent resources, names, selectors."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.admission.matcher import Constraints, Matcher, MatchTarget
from gateway.kinds.attributes import Operation
from gateway.kinds.builtin import builtin_registry
from gateway.kinds.identity import GroupVersionKind, GroupVersionResource
from gateway.selectors.label_selector import compile_selector

REGISTRY = builtin_registry()


def rule(resources: str = "*", groups: str = "*", versions: str = "*", **others: Any) -> dict[str, Any]:
    made = {"apiGroups": [groups], "apiVersions": [versions], "resources": [resources], "operations": ["*"]}
    return {**made, **others}


def target(rules: list[dict[str, Any]], at: str, name: str = "a", **constraints: Any) -> MatchTarget | None:
    """The target of a create at "group/version/resource[/subresource]" for a webhook with these rules, or None."""
    group, version, plural, *rest = at.split("/")
    resource = REGISTRY.resources[group, version, plural, rest[0] if rest else ""]
    compiled = Constraints.of({"resourceRules": rules, **constraints})
    found = Matcher([("hook", compiled)], REGISTRY).of(resource, Operation.CREATE)
    return found[0].target(name) if found else None


@pytest.mark.parametrize(
    ("resources", "at", "concerned"),
    [
        ("*", "/v1/pods", True),
        ("*", "/v1/pods/status", False),
        ("*/*", "/v1/pods", True),
        ("*/*", "/v1/pods/status", True),
        ("pods", "/v1/pods/status", False),
        ("pods/*", "/v1/pods", True),
        ("pods/*", "/v1/pods/exec", True),
        ("pods/status", "/v1/pods", False),
        ("*/scale", "apps/v1/deployments/scale", True),
        ("*/scale", "apps/v1/deployments", False),
    ],
)
def test_wildcards_in_resources(resources: str, at: str, concerned: bool) -> None:
    assert (target([rule(resources)], at) is not None) is concerned


@pytest.mark.parametrize(
    ("scope", "at", "concerned"),
    [
        ("Namespaced", "/v1/pods", True),
        ("Namespaced", "/v1/nodes", False),
        ("Namespaced", "/v1/namespaces", False),
        ("Cluster", "/v1/namespaces", True),
        ("Cluster", "/v1/pods", False),
        ("*", "/v1/namespaces", True),
    ],
)
def test_scope(scope: str, at: str, concerned: bool) -> None:
    assert (target([rule(scope=scope)], at) is not None) is concerned


def test_operations() -> None:
    assert target([rule(operations=["UPDATE", "DELETE"])], "/v1/pods") is None
    assert target([rule(operations=["CREATE"])], "/v1/pods") is not None


def test_an_equivalent_resource_is_seen_as_that_of_the_rule() -> None:
    seen = target([rule("horizontalpodautoscalers", "autoscaling", "v1")], "autoscaling/v2/horizontalpodautoscalers")
    assert seen == MatchTarget(
        GroupVersionResource("autoscaling", "v1", "horizontalpodautoscalers"),
        GroupVersionKind("autoscaling", "v1", "HorizontalPodAutoscaler"),
    )
    events = target([rule("events", "", "v1")], "events.k8s.io/v1/events")
    assert events is not None
    assert events.kind == GroupVersionKind("", "v1", "Event")


def test_a_later_rule_for_the_resource_itself_comes_first() -> None:
    rules = [rule(groups="autoscaling", versions="v1"), rule(groups="autoscaling", versions="v2")]
    seen = target(rules, "autoscaling/v2/horizontalpodautoscalers")
    assert seen is not None
    assert seen.kind.version == "v2"


def test_exact_rules_are_for_no_equivalents() -> None:
    rules = [rule("horizontalpodautoscalers", "autoscaling", "v1")]
    assert target(rules, "autoscaling/v2/horizontalpodautoscalers", matchPolicy="Exact") is None


def test_names() -> None:
    rules = [rule(resourceNames=["a", "b"])]
    assert target(rules, "/v1/pods", "b") is not None
    assert target(rules, "/v1/pods", "c") is None
    assert target(rules, "/v1/pods", "") is None, "a name that is yet to be generated"


def test_exclusions() -> None:
    excluded = {"excludeResourceRules": [rule("pods"), rule("secrets", resourceNames=["s"])]}
    assert target([rule()], "/v1/pods", **excluded) is None
    assert target([rule()], "/v1/secrets", "s", **excluded) is None
    assert target([rule()], "/v1/secrets", "t", **excluded) is not None
    assert target([rule()], "/v1/configmaps", "s", **excluded) is not None


def test_what_is_found_is_remembered_until_the_resource_changes() -> None:
    matcher = Matcher([("hook", Constraints.of({"resourceRules": [rule()]}))], REGISTRY)
    resource = REGISTRY.resources["", "v1", "pods", ""]
    assert matcher.of(resource, Operation.CREATE) is matcher.of(resource, Operation.CREATE)


@pytest.mark.parametrize(
    ("selector", "labels", "selected"),
    [
        ({"matchLabels": {"a": "1"}}, {"a": "1", "b": "2"}, True),
        ({"matchLabels": {"a": "1"}}, {}, False),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["1", "2"]}]}, {"a": "2"}, True),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["1", "2"]}]}, {}, False),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["1"]}]}, {}, True),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["1"]}]}, {"a": "1"}, False),
        ({"matchExpressions": [{"key": "a", "operator": "Exists"}]}, {"a": ""}, True),
        ({"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}, {"a": ""}, False),
        ({"matchLabels": {"a": "1"}, "matchExpressions": [{"key": "b", "operator": "Exists"}]}, {"a": "1"}, False),
    ],
)
def test_selectors(selector: dict[str, Any], labels: dict[str, str], selected: bool) -> None:
    matches = compile_selector(selector)
    assert matches is not None
    assert matches(labels) is selected


def test_an_empty_selector_selects_everything() -> None:
    assert compile_selector({}) is None
    assert compile_selector(None) is None
