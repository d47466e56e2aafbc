"""Built-in models by their kinds."""

from __future__ import annotations

from gateway.kinds.builtin import builtin_registry
from gateway.kinds.model import Canonicalise

REGISTRY = builtin_registry()


def canonicaliser_of(group: str, version: str, kind: str) -> Canonicalise:
    """What makes the canonical value of stored objects of a kind."""
    resource = REGISTRY.by_kind(group, version, kind)
    assert resource is not None
    return resource.model.canonicalise
