"""`limitedResources` of ResourceQuota's admission configuration: resources that need a quota to be used at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gateway.jsontypes import JsonObject
from gateway.quotas.scopes import ScopeSelector, selector_of


@dataclass(frozen=True, slots=True)
class Limited:
    """A resource that needs a quota: for usage whose name contains one of `contains`, and for objects in `scopes`."""

    group: str
    resource: str
    contains: tuple[str, ...]
    scopes: Sequence[ScopeSelector]


def limited_of(configuration: JsonObject) -> tuple[Limited, ...]:
    """The limitedResources of a ResourceQuotaConfiguration. Raises ValueError for one without a resource."""
    found = []
    for index, each in enumerate(configuration.get("limitedResources") or ()):
        if not each.get("resource"):
            raise ValueError(f"limitedResources[{index}].resource: Required value")
        found.append(
            Limited(
                each.get("apiGroup") or "",
                each["resource"],
                tuple(each.get("matchContains") or ()),
                tuple(selector_of(expression) for expression in each.get("matchScopes") or ()),
            )
        )
    return tuple(found)
