"""ClusterRoleBindings: roleRef is immutable."""

from __future__ import annotations

from gateway.kinds.strategies.rbac import binding

STRATEGIES = binding(namespaced=False)
