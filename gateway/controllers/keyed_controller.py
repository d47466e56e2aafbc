"""The base class of controllers with one queue, whose keys are etcd keys of objects."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from gateway.controllers.actor import Actor
from gateway.endpoints.endpoint import Endpoint
from gateway.jsontypes import JsonObject, loads
from gateway.work_queue import Work, WorkQueue
from gateway.writing.options import DeleteOptions
from storage.entry import Change, ChangeType, Entry
from storage.keys import namespace_and_name


class KeyedController:
    """The base class. Subclasses implement `on_update`, `on_delete` and `reconcile`."""

    queue_name = ""
    resources: tuple[str, ...] = ()  # storage prefixes of the watched resources, such as "pods"
    workers = 4

    def __init__(self, actor: Actor) -> None:
        self.actor = actor
        self.queue: WorkQueue[bytes] = WorkQueue(self.queue_name, max_delay=60.0)
        root = actor.endpoints.services.store.cache.root
        self.prefixes = {root + name.encode() + b"/": name for name in self.resources}
        self._prefix_of = {name: prefix for prefix, name in self.prefixes.items()}

    # incoming changes

    def follows(self, prefix: bytes) -> bool:
        return prefix in self.prefixes

    def begin(self, prefix: bytes, keys: set[bytes]) -> None:
        return None

    def state(self, prefix: bytes, entry: Entry) -> None:
        self.on_update(self.prefixes[prefix], entry)

    def change(self, prefix: bytes, change: Change) -> None:
        if change.type is ChangeType.DELETED:
            self.on_delete(self.prefixes[prefix], change.entry)
        else:
            self.on_update(self.prefixes[prefix], change.entry)

    def works(self) -> list[Work]:
        return [Work(self.queue, self.reconcile, self.workers)]

    def kinds_changed(self) -> None:
        return None

    def authorities_changed(self) -> None:
        return None

    def on_update(self, resource: str, entry: Entry) -> None:
        """Called for each object at the start, and for each added or modified object."""

    def on_delete(self, resource: str, entry: Entry) -> None:
        """Called for each deleted object, with its last state."""

    async def reconcile(self, key: bytes) -> None:
        """Reconciles a key of the queue. Raises StatusError, StorageError: then the key is tried again."""

    # lookups

    def place(self, resource: str, key: bytes) -> tuple[str, str]:
        """The namespace and name of an object, by its key."""
        namespace, name = namespace_and_name(key, self._prefix_of[resource])
        return namespace, name

    def key(self, resource: str, namespace: str, name: str = "") -> bytes:
        """The key of an object, or without a name the key prefix of a namespace's objects."""
        path = f"{namespace}/{name}" if namespace else name
        return self._prefix_of[resource] + path.encode()

    def cached(self, key: bytes) -> JsonObject | None:
        """An object in the watch cache, with its resourceVersion; None if it is missing or can't be read."""
        entry = self.actor.endpoints.services.stores.cached_entry(key)
        readable = None if entry is None else entry.readable
        return None if readable is None else loads(readable.head + readable.tail)

    def entries(self, resource: str, namespace: str = "") -> Iterable[Entry]:
        """All objects of a resource in the watch cache, or those of a namespace."""
        found = self.actor.endpoints.services.stores.cached_entries(self.key(resource, namespace))
        return (entry for entry in found if entry.readable is entry)

    async def live(self, key: bytes) -> JsonObject | None:
        """An object from etcd, without a resourceVersion; None if it is missing."""
        stored = await self.actor.endpoints.services.stores.of(key).get(key)
        found: JsonObject | None = None if stored is None else loads(stored.value)
        return found

    async def delete(self, endpoint: Endpoint, obj: JsonObject, options: DeleteOptions) -> bool:
        """Deletes an object with its uid and resourceVersion as preconditions. Returns whether it existed."""
        meta = obj["metadata"]
        this = replace(options, uid=meta["uid"], resource_version=meta.get("resourceVersion"))
        return await self.actor.delete(endpoint, meta.get("namespace", ""), meta["name"], this)


def is_being_deleted(obj: JsonObject) -> bool:
    """Whether an object has a deletionTimestamp."""
    return bool(obj["metadata"].get("deletionTimestamp"))
