"""Carries out StorageVersionMigrations: rewrites the stored objects of a resource (KEP-4192).

Rewritten objects have the present storage version and encryption. The steps are those of kube-controller-manager. Each
step writes the status: the condition Running, the resourceVersion, then Succeeded or Failed. Objects that were written
after the resourceVersion are not rewritten.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gateway import clock
from gateway.controllers.actor import Actor
from gateway.controllers.cache_sync import all_seen
from gateway.controllers.keyed_controller import KeyedController
from gateway.controllers.migrated_definitions import MigratedDefinition
from gateway.controllers.migration_turns import GroupResource, MigrationStage, MigrationTurns
from gateway.courtesy import give_way
from gateway.http.status import StatusError
from gateway.jsontypes import JsonObject, loads
from gateway.kinds.metadata import now_text, seconds_of
from storage.entry import MARK, Entry, ResourceSpec
from storage.keys import namespace_and_name
from storage.values import StaleValue

if TYPE_CHECKING:
    from gateway.endpoints.endpoint import Endpoint

NAME = "storage-version-migrator-controller"
MISSING_TIMEOUT = 60.0  # seconds after a migration's creation in which its resource may come
_KIND = ("storagemigration.k8s.io", "v1", "storageversionmigrations")
_DIGITS, _ANY = 19, (1 << 63) - 1  # a resourceVersion with so many digits is later than all of etcd's
_NEEDED = ("update", "patch", "list")
_FAILED, _UNHANDLED = "StorageVersionMigrationFailed", "migration encountered unhandled error: "
_AGAIN = frozenset({"ServerTimeout", "TooManyRequests", "ServiceUnavailable", "InternalError", "Timeout"})


class StorageMigrations(KeyedController):
    """The controller. Its queue has keys of migrations. Does nothing if the kind is not served."""

    queue_name = NAME
    resources = (_KIND[2],)
    workers = 5

    def __init__(self, actor: Actor) -> None:
        super().__init__(actor)
        self._turns = MigrationTurns()
        self._missing = set[bytes]()  # migrations whose resource is not served

    def begin(self, prefix: bytes, keys: set[bytes]) -> None:
        self._turns = MigrationTurns()

    def kinds_changed(self) -> None:
        missing, self._missing = self._missing, set()
        for key in missing:
            self.queue.add(key)

    def on_update(self, resource: str, entry: Entry) -> None:
        migration = loads(b"{" + entry.tail)
        meta = migration["metadata"]
        self._turns.note(entry.key, _resource(migration), _stage(migration), (meta["creationTimestamp"], meta["name"]))
        self.queue.add(entry.key)
        self._call_next(migration)

    def on_delete(self, resource: str, entry: Entry) -> None:
        self._missing.discard(entry.key)
        self._turns.drop(entry.key)
        self._call_next(loads(b"{" + entry.tail))

    def _call_next(self, migration: JsonObject) -> None:
        following = self._turns.next(_resource(migration))
        if following is not None:
            self.queue.add(following)

    async def reconcile(self, key: bytes) -> None:
        migration = self.cached(key)
        if migration is None or _KIND in self.actor.endpoints.registry.unserved:
            return
        if _stage(migration) is MigrationStage.ENDED:
            if _is_true(migration, "Running"):
                await self._finish(migration)
        elif not _is_true(migration, "Running"):
            if self._turns.next(_resource(migration)) == key:
                await self._start(migration)
        elif not (migration.get("status") or {}).get("resourceVersion"):
            await self._set_version(key, migration)
        else:
            await self._migrate(key, migration)

    # the steps

    async def _start(self, migration: JsonObject) -> None:
        await self._definition(migration).begin(migration["metadata"]["name"])
        await self._tell(migration, lambda status: _set(status, "Running", "MigrationRunning", _running()))

    async def _set_version(self, key: bytes, migration: JsonObject) -> None:
        """Sets the resourceVersion until which objects are stored anew."""
        endpoint = self._endpoint(migration)
        if endpoint is None:
            await self._await_resource(key, migration, "resource does not exist in discovery")
            return
        resource = endpoint.resource
        if not resource.verbs.issuperset(_NEEDED):
            named = f"{resource.group}/{resource.version}, Resource={resource.resource}"
            message = f'resource "{named}" does not support discovery operations: [{" ".join(_NEEDED)}]'
            await self._fail(migration, message)
            return
        await all_seen(endpoint.store.reads)
        reached = str(endpoint.store.reads.reached)

        def tell(status: JsonObject) -> None:
            status.setdefault("resourceVersion", reached)

        await self._tell(migration, tell)

    async def _migrate(self, key: bytes, migration: JsonObject) -> None:
        endpoint = self._endpoint(migration)
        if endpoint is None:
            await self._await_resource(key, migration, f"{_UNHANDLED}unable to obtain GVR from discovery")
            return
        await all_seen(endpoint.store.reads)
        total, until = len(endpoint.cache), migration["status"]["resourceVersion"]
        last = int(until) if len(until) < _DIGITS else _ANY
        outdated = [entry.key for entry in endpoint.cache.slice(0, total) if entry.revision <= last]
        left = len(outdated)
        rewriting = self.actor.rewriting()
        for of in outdated:
            await give_way()
            if self.actor.endpoints.services.stores.cached_entry(key) is None:
                return  # the migration was deleted
            try:
                await _store_anew(self.actor, rewriting, endpoint, of)
            except StatusError as error:
                await self._interrupted(migration, left, total, error)
                if error.reason in _AGAIN:
                    raise
                return
            left -= 1

        def succeeded(status: JsonObject) -> None:
            _set(status, "Running", "MigrationRunning", _running(0, total))
            _set(status, "Succeeded", "StorageVersionMigrationSucceeded", "Migration completed")

        await self._tell(migration, succeeded)

    async def _interrupted(self, migration: JsonObject, left: int, total: int, error: StatusError) -> None:
        """Records that an object could not be stored. The migration fails, unless a later attempt may succeed."""
        again = error.reason in _AGAIN

        def tell(status: JsonObject) -> None:
            _set(status, "Running", "MigrationRunning", _running(left, total, error.message if again else ""))
            if not again:
                message = f"{left}/{total} not yet migrated. {_UNHANDLED}{error.message}"
                _set(status, "Failed", _FAILED, message)

        await self._tell(migration, tell)

    async def _finish(self, migration: JsonObject) -> None:
        await self._definition(migration).finish(succeeded=_is_true(migration, "Succeeded"))

        def tell(status: JsonObject) -> None:
            _set(status, "Running", "MigrationCompleted", "Migration completed", "False")

        await self._tell(migration, tell, ended=True)

    async def _fail(self, migration: JsonObject, message: str) -> None:
        await self._tell(migration, lambda status: _set(status, "Failed", _FAILED, message))

    async def _await_resource(self, key: bytes, migration: JsonObject, message: str) -> None:
        """Waits for a resource that may still come; later the migration has failed with this message."""
        left = seconds_of(migration["metadata"]["creationTimestamp"]) + MISSING_TIMEOUT - clock.now()
        if left <= 0:
            await self._fail(migration, message)
            return
        self._missing.add(key)
        self.queue.add_after(key, left + 0.01)

    async def _tell(self, migration: JsonObject, tell: Callable[[JsonObject], None], *, ended: bool = False) -> None:
        """Changes the status by `tell`, unless the migration has ended meanwhile (or with `ended`, has not)."""
        meta = migration["metadata"]

        def alter(obj: JsonObject) -> bool:
            if (_stage(obj) is MigrationStage.ENDED) is not ended:
                return False
            tell(obj.setdefault("status", {}))
            return True

        await self.actor.change(self.actor.of(*_KIND, "status"), "", meta["name"], alter, uid=meta["uid"])

    # lookups

    def _endpoint(self, migration: JsonObject) -> Endpoint | None:
        """The endpoint of the resource in its preferred version; None if this server does not serve it."""
        endpoints = self.actor.endpoints
        found = endpoints.registry.preferred(*_resource(migration))
        if found is None or found.gvr in endpoints.registry.unserved:
            return None
        return endpoints.of_resource(found)

    def _definition(self, migration: JsonObject) -> MigratedDefinition:
        return MigratedDefinition(self.actor, *_resource(migration))


async def _store_anew(actor: Actor, rewriting: Actor, endpoint: Endpoint, key: bytes) -> None:
    """Stores an object anew if etcd has it in an outdated form. Raises StatusError, StorageError."""
    if not endpoint.resource.model.written_as_served:  # other kinds of updates detect an outdated form by themselves
        found = await endpoint.store.client.get(key)
        if found is None or _has_form(found.value, endpoint.cache.spec):
            return
        actor = rewriting
    namespace, name = namespace_and_name(key, endpoint.cache.spec.prefix)
    await actor.change(endpoint, namespace, name, lambda obj: True)


def _has_form(value: bytes, spec: ResourceSpec) -> bool:
    """Whether a value is as this server stores it today: canonical, in the storage version, under the present key."""
    if isinstance(value, StaleValue) or not (value.startswith(spec.head) and value.endswith(MARK)):
        return False
    return spec.outdated is None or not spec.outdated(value)


def _resource(migration: JsonObject) -> GroupResource:
    resource = (migration.get("spec") or {}).get("resource") or {}
    return resource.get("group", ""), resource.get("resource", "")


def _stage(migration: JsonObject) -> MigrationStage:
    if _is_true(migration, "Succeeded") or _is_true(migration, "Failed"):
        return MigrationStage.ENDED
    return MigrationStage.RUNS if _is_true(migration, "Running") else MigrationStage.WAITS


def _is_true(migration: JsonObject, kind: str) -> bool:
    conditions = (migration.get("status") or {}).get("conditions") or ()
    return any(each.get("type") == kind and each.get("status") == "True" for each in conditions)


def _set(status: JsonObject, kind: str, reason: str, message: str, value: str = "True") -> None:
    """Sets a condition; its transition time changes with its value only."""
    conditions = status["conditions"] = [dict(each) for each in status.get("conditions") or ()]
    wanted = {"type": kind, "status": value, "reason": reason, "message": message}
    for each in conditions:
        if each.get("type") == kind:
            at = each.get("lastTransitionTime") if each.get("status") == value else now_text()
            each.update(wanted, lastTransitionTime=at)
            return
    conditions.append({**wanted, "lastTransitionTime": now_text()})


def _running(left: int = 0, total: int = 0, error: str = "") -> str:
    """The message of the condition Running."""
    message = "The migration is running"
    if total:
        message += f", {left}/{total} objects not yet migrated" if left else f", {total} objects verified migrated"
    return f"{message}; transient error: {error}" if error else message
