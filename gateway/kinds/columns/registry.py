"""Finds the columns of a built-in kind."""

from __future__ import annotations

from importlib import import_module

from gateway.kinds.columns.model import NAME_AND_TIME, Columns
from gateway.release.gates import Enabled
from gateway.release.release import DEFAULT_GATES

_MODULES = {  # group -> modules that may have the columns of its kinds
    "": ("pods", "workloads", "network", "nodes", "events", "configuration", "storage"),
    "admissionregistration.k8s.io": ("admission",),
    "apiextensions.k8s.io": ("definitions",),
    "apiregistration.k8s.io": ("cluster",),
    "apps": ("workloads",),
    "autoscaling": ("autoscaling",),
    "batch": ("jobs",),
    "certificates.k8s.io": ("access",),
    "coordination.k8s.io": ("cluster",),
    "discovery.k8s.io": ("network",),
    "events.k8s.io": ("events",),
    "flowcontrol.apiserver.k8s.io": ("flowcontrol",),
    "internal.apiserver.k8s.io": ("cluster",),
    "networking.k8s.io": ("network",),
    "node.k8s.io": ("cluster",),
    "policy": ("workloads",),
    "rbac.authorization.k8s.io": ("access",),
    "resource.k8s.io": ("devices",),
    "scheduling.k8s.io": ("cluster",),
    "storage.k8s.io": ("storage",),
    "storagemigration.k8s.io": ("cluster",),
}


def columns_of(group: str, kind: str, enabled: Enabled = DEFAULT_GATES.enabled) -> Columns:
    """The columns of a built-in kind, the same in all versions; name and creation time for a kind without its own.

    `enabled` tells whether the release has a change of columns. A module is imported when one of its kinds is first
    needed.
    """
    for name in _MODULES.get(group, ()):
        module = import_module(f"gateway.kinds.columns.{name}")
        found: Columns | None = module.COLUMNS.get((group, kind))
        if found is not None:
            change, before = getattr(module, "BEFORE", {}).get((group, kind), ("", found))
            return found if not change or enabled(change) else before
    return DEFAULT


DEFAULT = NAME_AND_TIME
