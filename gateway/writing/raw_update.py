"""Changes a stored object without strategy and admission, as kube-apiserver's binding and eviction change a pod.

The subresource itself has passed admission. There are no defaults, validation or managed fields, only compare-and-swap.
"""

from __future__ import annotations

from collections.abc import Callable

from gateway.endpoints.endpoint import Endpoint
from gateway.http import status
from gateway.jsontypes import JsonObject
from storage.change import KEEP, Decision, Outcome, Put, change
from storage.errors import StoredObject


async def change_stored(
    endpoint: Endpoint, namespace: str, name: str, alter: Callable[[JsonObject], None], *, dry_run: bool
) -> StoredObject:
    """Applies `alter` to the present object (with its resourceVersion) and stores it. Tries again if another writer is
    faster. Returns the new version.

    `alter` raises StatusError to refuse; it may be called several times. Raises StatusError 404.
    """
    resource, key = endpoint.resource, endpoint.key(namespace, name)
    shown: StoredObject | None = None

    async def make(current: StoredObject | None) -> Decision:
        nonlocal shown
        if current is None:
            raise status.not_found(resource.group, resource.resource, name)
        obj = endpoint.parse(await endpoint.written.read(current.value))
        obj["metadata"]["resourceVersion"] = str(current.revision)
        alter(obj)
        value = endpoint.written.encode(obj)
        shown = StoredObject(key, value, current.revision)
        return KEEP if dry_run or value == current.value else Put(value)

    changed = await change(endpoint.store, key, make)
    assert shown is not None
    return shown if changed.outcome is Outcome.UNCHANGED else StoredObject(key, shown.value, changed.revision)
