"""The strategies of the built-in resources, found by name and imported when first used.

A module of this package exports `STRATEGIES`: a dict from subresource name ("" for the resource itself) to
`Strategy`. `MODULES` says which module a resource has; a resource without one has the generic rules only.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module

from gateway.resources.strategy import Strategy

# "group/resource" (the core group is empty) -> module of this package
MODULES: dict[str, str] = {
    "/pods": "pods",
    "/podtemplates": "podtemplates",
    "/replicationcontrollers": "replicationcontrollers",
    "/nodes": "nodes",
    "/namespaces": "namespaces",
    "apps/deployments": "deployments",
    "apps/replicasets": "replicasets",
    "apps/statefulsets": "statefulsets",
    "apps/daemonsets": "daemonsets",
    "apps/controllerrevisions": "controllerrevisions",
    "batch/jobs": "jobs",
    "batch/cronjobs": "cronjobs",
}

DEFAULT = Strategy()


@lru_cache(maxsize=1024)
def strategy_for(group: str, resource: str, subresource: str = "") -> Strategy:
    """The rules of a resource or subresource; `DEFAULT` where it has none of its own."""
    module = MODULES.get(f"{group}/{resource}")
    if module is None:
        return DEFAULT
    strategies: dict[str, Strategy] = import_module(f"{__name__}.{module}").STRATEGIES
    return strategies.get(subresource, DEFAULT)
