"""Tells a CustomResourceDefinition that its objects are being migrated, and which versions are stored afterwards."""

from __future__ import annotations

from gateway.controllers.actor import Actor
from gateway.endpoints.endpoint import Endpoint
from gateway.jsontypes import JsonObject, loads
from gateway.kinds.metadata import now_text

MANAGER = "migration-runner-controller"
_CONDITION = "StorageMigrating"
_KIND = ("apiextensions.k8s.io", "v1", "customresourcedefinitions")


class MigratedDefinition:
    """The definition of a resource that is migrated, if the resource has one."""

    def __init__(self, actor: Actor, group: str, resource: str) -> None:
        self._actor, self._name = actor, f"{resource}.{group}"

    async def begin(self, migration: str) -> None:
        """Sets the condition. Raises StatusError, StorageError."""
        definition = await self._read()
        if definition is not None:
            told = _condition(definition, "True", "MigrationRunning", f"Migration {migration} is running")
            stored = (definition.get("status") or {}).get("storedVersions") or []
            await self._apply(definition, {"conditions": [told], "storedVersions": stored})

    async def finish(self, *, succeeded: bool) -> None:
        """Ends the condition. After a success only the storage version stays in storedVersions, if the definition has
        not changed since `begin`. Raises StatusError, StorageError.
        """
        definition = await self._read()
        if definition is None:
            return
        generation, status = definition["metadata"].get("generation", 0), definition.get("status") or {}
        conditions = [each for each in status.get("conditions") or () if each.get("type") == _CONDITION]
        same = any(each.get("observedGeneration", 0) == generation for each in conditions)
        reason, message, stored = "MigrationFailed", "The migration has failed", status.get("storedVersions") or []
        if succeeded:
            reason, message = "MigrationSucceeded", "The migration has succeeded"
            message += (
                " and the stored versions have been updated"
                if same
                else " but the stored versions have not been updated due to a generation mismatch"
            )
        if same and succeeded:
            stored = [each["name"] for each in definition["spec"].get("versions") or () if each.get("storage")]
        told = _condition(definition, "False", reason, message)
        await self._apply(definition, {"conditions": [told], "storedVersions": stored})

    async def _read(self) -> JsonObject | None:
        """The definition from etcd, with its resourceVersion."""
        endpoint = self._endpoint()
        stored = await endpoint.store.get(endpoint.key("", self._name))
        if stored is None:
            return None
        definition: JsonObject = loads(stored.value)
        definition["metadata"]["resourceVersion"] = str(stored.revision)
        return definition

    async def _apply(self, definition: JsonObject, status: JsonObject) -> None:
        """Applies fields of the status, unless the definition has changed meanwhile."""
        meta = {"name": self._name, "resourceVersion": definition["metadata"]["resourceVersion"]}
        fields = {"metadata": meta, "status": status}
        await self._actor.apply(self._endpoint("status"), "", self._name, fields, MANAGER)

    def _endpoint(self, subresource: str = "") -> Endpoint:
        return self._actor.of(*_KIND, subresource)


def _condition(definition: JsonObject, value: str, reason: str, message: str) -> JsonObject:
    return {
        "type": _CONDITION,
        "status": value,
        "lastTransitionTime": now_text(),
        "reason": reason,
        "message": message,
        "observedGeneration": definition["metadata"].get("generation", 0),
    }
