"""A controller with one queue, of etcd keys of the objects of a few resources."""

from __future__ import annotations

from collections.abc import Iterable

from gateway.controllers.actor import Actor
from gateway.controllers.queue import Work, WorkQueue
from gateway.endpoints.endpoint import Endpoint
from gateway.jsontypes import JsonObject, loads
from gateway.writing.options import DeleteOptions
from storage.entry import Change, ChangeType, Entry
from storage.keys import namespace_and_name


class Keyed:
    """What such controllers share. Subclasses say what `seen` and `gone` objects lead to, and `reconcile`."""

    queue_name = ""
    resources: tuple[str, ...] = ()  # storage prefixes of the resources that are looked at: "pods"
    workers = 4

    def __init__(self, actor: Actor) -> None:
        self.actor = actor
        self.queue: WorkQueue[bytes] = WorkQueue(self.queue_name, max_delay=60.0)
        root = actor.endpoints.services.store.cache.root
        self.prefixes = {root + name.encode() + b"/": name for name in self.resources}
        self._prefix_of = {name: prefix for prefix, name in self.prefixes.items()}

    # what is seen

    def follows(self, prefix: bytes) -> bool:
        return prefix in self.prefixes

    def begin(self, prefix: bytes, keys: set[bytes]) -> None:
        return None

    def state(self, prefix: bytes, entry: Entry) -> None:
        self.seen(self.prefixes[prefix], entry)

    def change(self, prefix: bytes, change: Change) -> None:
        if change.type is ChangeType.DELETED:
            self.gone(self.prefixes[prefix], change.entry)
        else:
            self.seen(self.prefixes[prefix], change.entry)

    def works(self) -> list[Work]:
        return [Work(self.queue, self.reconcile, self.workers)]

    def kinds_changed(self) -> None:
        return None

    def seen(self, resource: str, entry: Entry) -> None:
        """An object is there, or has changed."""

    def gone(self, resource: str, entry: Entry) -> None:
        """An object was deleted; this is how it was."""

    async def reconcile(self, key: bytes) -> None:
        """Looks at a key of the queue. Raises StatusError, StorageError."""

    # what is looked up

    def place(self, resource: str, key: bytes) -> tuple[str, str]:
        """Namespace and name of an object."""
        namespace, name = namespace_and_name(key, self._prefix_of[resource])
        return namespace, name

    def key(self, resource: str, namespace: str, name: str = "") -> bytes:
        """The key of an object, or of a namespace's collection."""
        path = f"{namespace}/{name}" if namespace else name
        return self._prefix_of[resource] + path.encode()

    def cached(self, key: bytes) -> JsonObject | None:
        """An object as this process has it, with its resourceVersion."""
        entry = self.actor.endpoints.services.stores.cached_entry(key)
        readable = None if entry is None else entry.readable
        return None if readable is None else loads(readable.head + readable.tail)

    def entries(self, resource: str, namespace: str = "") -> Iterable[Entry]:
        """All objects of a resource, or of a namespace."""
        found = self.actor.endpoints.services.stores.cached_entries(self.key(resource, namespace))
        return (entry for entry in found if entry.readable is entry)

    async def live(self, key: bytes) -> JsonObject | None:
        """An object as etcd has it; without a resourceVersion."""
        stored = await self.actor.endpoints.services.stores.of(key).get(key)
        found: JsonObject | None = None if stored is None else loads(stored.value)
        return found

    async def delete(self, endpoint: Endpoint, obj: JsonObject, options: DeleteOptions) -> bool:
        """Deletes exactly this object; whether it was there."""
        meta = obj["metadata"]
        options.uid = meta["uid"]
        options.resource_version = meta.get("resourceVersion")
        return await self.actor.delete(endpoint, meta.get("namespace", ""), meta["name"], options)


def is_being_deleted(obj: JsonObject) -> bool:
    """Whether an object has a deletionTimestamp."""
    return bool(obj["metadata"].get("deletionTimestamp"))
