"""`limitedResources` of ResourceQuota's admission configuration: resources that need a quota to be used at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gateway.jsontypes import JsonObject
from gateway.quotas.scopes import ScopeSelector, selector_of


@dataclass(frozen=True, slots=True)
class Limited:
    """A resource of which names that contain one of `contains`, or objects in one of `scopes`, need a quota."""

    group: str
    resource: str
    contains: tuple[str, ...]
    scopes: Sequence[ScopeSelector]


def limited_of(configuration: JsonObject) -> tuple[Limited, ...]:
    """What a ResourceQuotaConfiguration limits. Raises ValueError with what is wrong with it."""
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
