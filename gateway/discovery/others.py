"""The interface through which discovery gets the groups of extension API servers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Protocol

from gateway.jsontypes import JsonObject

_VERSION = re.compile(r"v([1-9]\d{0,9})(?:(alpha|beta)([1-9]\d{0,9}))?")
_STABILITY = {None: 0, "beta": 1, "alpha": 2}


class ExtensionGroups(Protocol):
    """Knows the groups of extension API servers, and the order of all groups and versions."""

    def groups(self, local: Mapping[str, Iterable[str]]) -> list[tuple[str, list[str]]]:
        """All groups with their versions, given those that are served here."""
        ...

    def discovered(self, local: Mapping[str, JsonObject]) -> list[JsonObject]:
        """All groups as APIGroupDiscovery, given those that are served here, by name."""
        ...


def version_order(version: str) -> tuple[int, int, int, str]:
    """A key that sorts versions as Kubernetes does: v10, v2, v1, v2beta1, v1beta2, v3alpha1, then others by name."""
    found = _VERSION.fullmatch(version)
    if found is None:
        return 3, 0, 0, version
    return _STABILITY[found[2]], -int(found[1]), -int(found[3] or 0), ""
