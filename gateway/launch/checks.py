"""The health checks of a process's background work."""

from __future__ import annotations

from collections.abc import Callable

from gateway.aggregation.aggregation import AGGREGATION_HOOKS, Aggregation
from gateway.customresources.definitions import Definitions
from gateway.requests.parts import Gateway

Check = Callable[[], str]
"""A health check of background work: returns the problem, "" for none."""


def checks_of(gateway: Gateway) -> dict[str, Check]:
    """The health checks of background work, by kube-apiserver's names."""

    def goes_on(of: Definitions | Aggregation) -> Check:
        return lambda: "it has ended" if of.ended else ""

    def defined() -> str:
        return "" if gateway.definitions.ready.is_set() else "CustomResourceDefinitions are not served yet"

    checks = {"crd-informer-synced": defined, "start-apiextensions-controllers": goes_on(gateway.definitions)}
    checks |= dict.fromkeys(AGGREGATION_HOOKS, goes_on(gateway.aggregation))
    found: dict[str, Check] = {f"poststarthook/{name}": check for name, check in checks.items()}
    return found | {"autoregister-completion": gateway.aggregation.registration.missing}
