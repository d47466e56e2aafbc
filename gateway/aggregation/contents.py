"""Deletes the objects of extension servers in a namespace that is being deleted, as kube-controller-manager does."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import suppress

from gateway.aggregation.extension_discovery import ExtensionDiscovery
from gateway.aggregation.objects import ObjectClient, Unsupported
from gateway.aggregation.services import ApiServices
from gateway.endpoints.foreign import ForeignError, ForeignKind, Left
from gateway.http.user import User
from gateway.jsontypes import JsonObject

_OPTIONS: JsonObject = {"propagationPolicy": "Background"}


class NamespaceContents:
    """Deletes the objects of all resources in the servers' discovery."""

    def __init__(self, services: ApiServices, discovered: ExtensionDiscovery, objects: ObjectClient) -> None:
        self._services, self._discovered, self._objects = services, discovered, objects

    def undiscovered(self) -> list[str]:
        """The sorted group versions whose discovery document is not known now."""
        return sorted(
            each.group_version for each in self._services.remote.values() if not self._discovered.is_fresh(each.name)
        )

    async def empty(self, namespace: str, user: User) -> Left:
        """Deletes all objects of extension API servers in a namespace. Returns what remains, and the failures."""
        left, kinds = Left(), dict[bytes, ForeignKind]()
        for service in self._services.preferred():
            for kind in self._discovered.kinds(service):
                if kind.namespaced and "delete" in kind.verbs:
                    kinds.setdefault(kind.prefix, kind)
        for kind in kinds.values():
            try:
                await self._delete(kind, namespace, user)
                await self._count(kind, namespace, user, left)
            except ForeignError as error:
                left.failures.append(f"{kind.resource}.{kind.group}: {error}")
        return left

    async def _delete(self, kind: ForeignKind, namespace: str, user: User) -> None:
        """Deletes the objects of a kind by deletecollection, or one by one if the server does not support that."""
        if "deletecollection" in kind.verbs:
            with suppress(Unsupported):
                await self._objects.delete_all(kind, namespace, _OPTIONS, user)
                return
        async for each in self._listed(kind, namespace, user):
            with suppress(Unsupported):
                await self._objects.delete(kind, namespace, each["name"], _OPTIONS, user)

    async def _count(self, kind: ForeignKind, namespace: str, user: User, left: Left) -> None:
        async for each in self._listed(kind, namespace, user):
            left.resources[f"{kind.resource}.{kind.group}"] += 1
            left.finalizers.update(each.get("finalizers") or ())

    async def _listed(self, kind: ForeignKind, namespace: str, user: User) -> AsyncIterator[JsonObject]:
        """The metadata of all objects of a kind; none if they can't be listed."""
        if "list" in kind.verbs:
            with suppress(Unsupported):
                async for each in self._objects.each(kind, user, namespace):
                    yield each
