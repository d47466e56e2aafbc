"""Finishes the deletion of a CustomResourceDefinition: deletes its objects, waits for their finalizers, then removes
the CRD's own finalizer.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from gateway.customresources.conditions import set_condition
from gateway.customresources.definition import ESTABLISHED, FINALIZER, TERMINATING, is_true
from gateway.customresources.status import write_status
from gateway.endpoints.endpoint import Endpoint
from gateway.endpoints.table import EndpointTable
from gateway.http.status import StatusError
from gateway.http.user import ITSELF
from gateway.jsontypes import JsonObject
from gateway.kinds.metadata import now_text
from gateway.kinds.resource import Resource
from gateway.writing.delete import delete_object
from gateway.writing.options import DeleteOptions
from gateway.writing.write import begin_as
from storage.errors import StorageError

log = logging.getLogger(__name__)

PAUSE = 5.0  # seconds between checks for remaining objects
RETRY = 1.0


Served = Callable[[], Resource | None]


async def clean_up(endpoints: EndpointTable, definition: JsonObject, served: Served) -> None:
    """Finishes the deletion of a CRD that has a deletionTimestamp. Safe on several replicas at once.

    `served` returns the resource that serves the objects of this CRD (by uid) now. It returns None if there is none, or
    if the CRD is not being deleted any more because etcd was restored from a backup. Objects are deleted through this
    resource only: a built-in resource may have the same group and plural.
    """
    name, uid = definition["metadata"]["name"], definition["metadata"].get("uid")
    while not endpoints.services.stopping.is_set():
        try:
            said = "True", "InstanceDeletionInProgress", "CustomResource deletion is in progress"
            await _say(endpoints, name, uid, *said)
            if is_true(definition, ESTABLISHED):
                await _delete_instances(endpoints, served)
                await _finish(endpoints, name, uid, "InstanceDeletionCompleted", "removed all instances")
            else:
                await _finish(endpoints, name, uid, "NeverEstablished", "resource was never established")
            return
        except (StatusError, StorageError) as error:
            log.warning(
                "the deletion of a CustomResourceDefinition is tried again later",
                extra={"definition": name, "error": str(error)},
            )
            await asyncio.sleep(RETRY)


async def _delete_instances(endpoints: EndpointTable, served: Served) -> None:
    """Deletes all objects and waits until they are gone. Raises StatusError, StorageError."""
    asked: set[bytes] = set()
    endpoint: Endpoint | None = None
    while True:
        if endpoint is None or endpoint.cache.closed:  # another model serves the objects now, or none
            resource = served()
            if resource is None:
                return
            endpoint = endpoints.of_resource(resource)
        for key in [key for key in endpoint.cache.all_keys() if key not in asked]:
            if endpoint.cache.closed or served() is None:
                break
            asked.add(key)
            await _delete(endpoint, key)
        if endpoint.cache.closed:
            continue
        if served() is None or not len(endpoint.cache):
            return
        waiter = endpoint.cache.changes()
        try:
            async with asyncio.timeout(PAUSE):
                await waiter
        except TimeoutError:
            continue
        finally:
            endpoint.cache.forget(waiter)


async def _delete(endpoint: Endpoint, key: bytes) -> None:
    namespace, _, name = key[len(endpoint.cache.spec.prefix) :].decode().rpartition("/")
    write = begin_as(endpoint, ITSELF, "delete", namespace, name)
    try:
        await delete_object(write, DeleteOptions())
    except StatusError as error:
        if error.reason != "NotFound":
            raise


async def _say(endpoints: EndpointTable, name: str, uid: object, status: str, reason: str, message: str) -> None:
    def make(present: JsonObject) -> JsonObject:
        if not _is_ending(present, uid):
            return present
        new = {**present, "status": dict(present.get("status") or {})}
        set_condition(new, {"type": TERMINATING, "status": status, "reason": reason, "message": message}, now_text())
        return present if new["status"] == present.get("status") else new

    await write_status(endpoints, name, make)


async def _finish(endpoints: EndpointTable, name: str, uid: object, reason: str, message: str) -> None:
    """Removes the finalizer, and sets the condition Terminating to False in the same write."""

    def make(present: JsonObject) -> JsonObject:
        if not _is_ending(present, uid):
            return present
        meta = dict(present["metadata"])
        meta["finalizers"] = [one for one in meta.get("finalizers") or () if one != FINALIZER]
        if not meta["finalizers"]:
            del meta["finalizers"]
        new = {**present, "metadata": meta, "status": dict(present.get("status") or {})}
        said = {"type": TERMINATING, "status": "False", "reason": reason, "message": message}
        set_condition(new, said, now_text())
        return new

    await write_status(endpoints, name, make)


def _is_ending(definition: JsonObject, uid: object) -> bool:
    meta = definition["metadata"]
    if meta.get("uid") != uid or not meta.get("deletionTimestamp"):
        return False
    return FINALIZER in (meta.get("finalizers") or ())
