"""Deletes what extension servers have in a namespace that is being deleted, as kube-controller-manager does."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import suppress

from gateway.aggregation.discovered import Discovered
from gateway.aggregation.objects import Objects, Unsupported
from gateway.aggregation.services import ApiServices
from gateway.endpoints.foreign import ForeignError, ForeignKind, Left
from gateway.http.user import User
from gateway.jsontypes import JsonObject

_OPTIONS: JsonObject = {"propagationPolicy": "Background"}


class Contents:
    """Deletes by the resources that discovery tells of."""

    def __init__(self, services: ApiServices, discovered: Discovered, objects: Objects) -> None:
        self._services, self._discovered, self._objects = services, discovered, objects

    def undiscovered(self) -> list[str]:
        """The group versions of which their servers do not tell what they serve, sorted."""
        return sorted(
            each.group_version for each in self._services.remote.values() if not self._discovered.is_fresh(each.name)
        )

    async def empty(self, namespace: str, user: User) -> Left:
        """Deletes everything that extension servers have in a namespace."""
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
        """Deletes all objects at once, or each by itself where the server does not do that."""
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
        """The metadata of what is there; of what cannot be listed nobody knows anything."""
        if "list" in kind.verbs:
            with suppress(Unsupported):
                async for each in self._objects.each(kind, user, namespace):
                    yield each
