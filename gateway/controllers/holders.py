"""Access to the objects of the garbage collector, on this server or on an extension API server."""

from __future__ import annotations

from copy import deepcopy
from typing import NamedTuple, Protocol

from gateway.controllers.actor import Actor, Alter
from gateway.endpoints.endpoint import Endpoint
from gateway.endpoints.foreign import ForeignKind
from gateway.jsontypes import JsonObject
from gateway.writing.options import DeleteOptions

_CHANGED = ("ownerReferences", "finalizers")


class Found(NamedTuple):
    """An object's metadata, and its resourceVersion."""

    metadata: JsonObject
    version: str


class Holder(Protocol):
    """The interface to the server that has the objects of one kind."""

    async def look(self, namespace: str, name: str) -> Found | None:
        """An object's metadata and version; None if it does not exist."""
        ...

    async def change(self, namespace: str, name: str, alter: Alter, uid: str) -> None:
        """Changes an object's metadata by `alter`, if it exists with this uid."""
        ...

    async def delete(self, namespace: str, name: str, options: DeleteOptions) -> None:
        """Deletes an object, if it exists."""
        ...


class Here:
    """Objects of this server. Methods raise StatusError, StorageError."""

    def __init__(self, actor: Actor, endpoint: Endpoint) -> None:
        self._actor, self.endpoint = actor, endpoint

    async def look(self, namespace: str, name: str) -> Found | None:
        stored = self.endpoint.store.cached(self.endpoint.key(namespace, name))
        return None if stored is None else Found(self.endpoint.parse(stored.value)["metadata"], str(stored.revision))

    async def change(self, namespace: str, name: str, alter: Alter, uid: str) -> None:
        await self._actor.change(self.endpoint, namespace, name, alter, uid=uid)

    async def delete(self, namespace: str, name: str, options: DeleteOptions) -> None:
        await self._actor.delete(self.endpoint, namespace, name, options)


class There:
    """Objects of an extension API server. Methods raise ForeignError."""

    def __init__(self, actor: Actor, kind: ForeignKind) -> None:
        self._objects, self._user, self._kind = actor.endpoints.services.foreign_objects, actor.user, kind

    async def look(self, namespace: str, name: str) -> Found | None:
        metadata = await self._objects.metadata(self._kind, namespace, name, self._user)
        return None if metadata is None else Found(metadata, metadata.get("resourceVersion", ""))

    async def change(self, namespace: str, name: str, alter: Alter, uid: str) -> None:
        before = await self._objects.metadata(self._kind, namespace, name, self._user)
        if before is None or before["uid"] != uid:
            return
        changed = {"metadata": deepcopy(before)}
        if alter(changed):
            after = changed["metadata"]
            merged = {key: after.get(key) for key in _CHANGED if after.get(key) != before.get(key)}
            merged |= {key: before[key] for key in ("uid", "resourceVersion") if before.get(key)}
            await self._objects.patch(self._kind, namespace, name, merged, self._user)

    async def delete(self, namespace: str, name: str, options: DeleteOptions) -> None:
        conditions = {"uid": options.uid, "resourceVersion": options.resource_version}
        said: JsonObject = {"propagationPolicy": options.propagation}
        said["preconditions"] = {key: value for key, value in conditions.items() if value}
        await self._objects.delete(self._kind, namespace, name, said, self._user)
