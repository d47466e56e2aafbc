"""Finds the resource of an etcd key."""

from __future__ import annotations

from collections.abc import Mapping

from gateway.encryption.configuration import Place
from gateway.kinds.identity import GroupResource
from gateway.kinds.registry import Registry


class KeyResources:
    """Finds the resource of a key. The keys of custom resources have the group and the plural; other keys have none."""

    def __init__(self, root: bytes, prefixes: Mapping[bytes, Place]) -> None:
        self._root, self._prefixes = root, prefixes

    def resource_of(self, key: bytes) -> Place | None:
        """The group and the plural; None for the server's own keys."""
        if not key.startswith(self._root):
            return None
        first, _, rest = key[len(self._root) :].partition(b"/")
        found = self._prefixes.get(first)
        if found is not None:
            return found
        second, _, left = rest.partition(b"/")
        found = self._prefixes.get(first + b"/" + second)
        if found is not None:
            return found
        return (first.decode(errors="replace"), second.decode(errors="replace")) if b"." in first and left else None


def keys_of(registry: Registry, etcd_prefix: str) -> KeyResources:
    """The `KeyResources` for the built-in resources of a registry and for custom ones."""
    prefixes: dict[bytes, Place] = {}
    for resource in registry.stored():
        place = GroupResource(resource.group, resource.resource)
        prefixes[resource.storage_prefix.encode()] = place.group, place.resource
    return KeyResources(f"{etcd_prefix}/".encode(), prefixes)
