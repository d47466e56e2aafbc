"""Warnings about selectors that use deprecated labels of nodes."""

from __future__ import annotations

from collections.abc import Iterator

from gateway.jsontypes import JsonObject

DEPRECATED = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
    "failure-domain.beta.kubernetes.io/zone": 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
    "beta.kubernetes.io/instance-type": 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": "deprecated since v1.22; use Taints and Tolerations instead",
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}


def expression_warnings(expressions: list[JsonObject] | None, path: str) -> Iterator[str]:
    """Yields warnings about the match expressions of a selector; `path` is the selector's."""
    for i, expression in enumerate(expressions or ()):
        if (key := expression.get("key", "")) in DEPRECATED:
            yield f"{path}.matchExpressions[{i}].key: {key} is {DEPRECATED[key]}"


def selector_warnings(selector: JsonObject | None, path: str) -> Iterator[str]:
    """Yields warnings about a label selector."""
    yield from expression_warnings((selector or {}).get("matchExpressions"), path)
    labels = (selector or {}).get("matchLabels") or ()
    yield from (f"{path}.matchLabels.{key}: {DEPRECATED[key]}" for key in labels if key in DEPRECATED)
