"""Changing a stored object without the way of a write: for what the server itself does to it.

No defaults, validation, admission or managed fields; only the compare-and-swap.
"""

from __future__ import annotations

from collections.abc import Callable

from gateway.http import status
from gateway.jsontypes import JsonObject
from gateway.schema.encode import encode_stored
from gateway.verbs.scope import Scope
from storage.errors import Conflict, StoredObject
from storage.protocol import Store


async def change_stored(
    store: Store, scope: Scope, namespace: str, name: str, change: Callable[[JsonObject], None], *, dry_run: bool
) -> StoredObject:
    """Applies `change` to the present object (with its resourceVersion) until nobody is faster; the new version.

    `change` raises StatusError to refuse; it may be called several times. Raises StatusError 404.
    """
    resource, key = scope.resource, scope.key(namespace, name)
    current = await store.get(key)
    while True:
        if current is None:
            raise status.not_found(resource.group, resource.resource, name)
        obj = scope.parse(current.value)
        obj["metadata"]["resourceVersion"] = str(current.revision)
        change(obj)
        value = encode_stored(obj, resource.kind, resource.storage_version)
        if dry_run or value == current.value:
            return StoredObject(key, value, current.revision)
        try:
            return StoredObject(key, value, await store.update(key, value, current.revision))
        except Conflict as lost:
            current = lost.current
