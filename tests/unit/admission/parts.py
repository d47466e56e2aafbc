"""The parts that plug-ins are made with, without webhooks and policies."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from gateway.access.authorization import AlwaysAllow
from gateway.admission.chain import PluginParts
from gateway.admission.plugins import configure
from gateway.admission.policies.policies import Policies
from gateway.admission.webhooks.configuration import Hooks
from gateway.admission.webhooks.sorts import AdmissionWebhooks
from gateway.kinds.objects import Objects
from gateway.kinds.registry import Registry
from gateway.quotas.charges import Charges
from gateway.release.minors import DEFAULT
from gateway.release.release import release_of
from storage.store import Stores


def parts_on(
    store: Any,
    registry: Registry,
    *,
    enabled: Collection[str] = (),
    disabled: Collection[str] = (),
    minor: str = DEFAULT,
) -> PluginParts:
    """Those of a server whose objects are in a store."""
    nobody: Any = None
    hooks = Hooks(registry, nobody)
    hooks.informed = True
    return PluginParts(
        Objects(registry, store, "/registry"),
        AlwaysAllow(),
        Charges(Stores(store)),
        configure(None, enabled, disabled),
        registry.by_kind,
        Policies(registry),
        AdmissionWebhooks(hooks, hooks),
        release=release_of(minor=minor),
    )
