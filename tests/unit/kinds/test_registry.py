"""The registry knows which storage prefixes its resources have, without going through them."""

from __future__ import annotations

from collections import Counter

from gateway.kinds.builtin import builtin_registry
from gateway.kinds.identity import GroupVersionResource


def test_a_prefix_is_stored_until_its_last_resource_is_gone() -> None:
    whole = builtin_registry()
    registry = whole.copy()
    versions = [
        each for each in registry.resources.values() if each.storage_prefix == "events" and not each.subresource
    ]
    assert {each.group for each in versions} == {"", "events.k8s.io"}
    for each in versions:
        assert registry.stores("events")
        registry.remove([GroupVersionResource(each.group, each.version, each.resource)])
    assert not registry.stores("events") and registry.stores("pods") and whole.stores("events")
    registry.add(versions)
    registry.add(versions)  # which replaces them
    assert registry.stores("events")
    assert registry._of_prefix == Counter(each.storage_prefix for each in registry.resources.values())
