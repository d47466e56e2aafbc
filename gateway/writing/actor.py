"""Writes without a request: those of controllers and of the server itself. They take the usual steps of a write."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gateway.endpoints.endpoint import Endpoint
from gateway.endpoints.table import EndpointTable
from gateway.http.status import StatusError
from gateway.http.user import User
from gateway.jsontypes import JsonObject, dumps, loads
from gateway.kinds.write_context import WriteOptions
from gateway.schema.decode import DecodeReport
from gateway.writing.create import create_object
from gateway.writing.delete import delete_object
from gateway.writing.field_tracking import track_fields
from gateway.writing.make import Made, Present
from gateway.writing.options import DeleteOptions
from gateway.writing.patch import applying
from gateway.writing.update import update_object
from gateway.writing.write import Write, Written, begin_as
from storage.store import EtcdStore

MANAGER = "kube-controller-manager"

Alter = Callable[[JsonObject], bool]
"""Changes an object in place; returns whether it changed it. It may be called several times; it raises StatusError to
refuse.
"""


class Actor:
    """Makes writes as a user."""

    def __init__(
        self,
        endpoints: EndpointTable,
        user: User,
        via: Mapping[EtcdStore, EtcdStore] | None = None,
        manager: str = MANAGER,
        *,
        rewrites: bool = False,
    ) -> None:
        """`via` maps the stores of endpoints to stores that replace them. `manager` is the field manager. With
        `rewrites`, an update stores the object anew even if it does not differ.
        """
        self.endpoints, self.user = endpoints, user
        self._via, self._manager, self._rewrites = via or {}, manager, rewrites

    def rewriting(self) -> Actor:
        """The same, with `rewrites`."""
        return Actor(self.endpoints, self.user, self._via, self._manager, rewrites=True)

    def of(self, group: str, version: str, resource: str, subresource: str = "") -> Endpoint:
        """The endpoint of a resource or subresource. Raises KeyError if it is not served."""
        return self.endpoints.of(group, version, resource, subresource)

    async def create(self, endpoint: Endpoint, namespace: str, obj: JsonObject) -> Written | None:
        """Creates an object (served version); returns None if it exists already. Raises StatusError, StorageError."""
        resource, version = endpoint.resource, endpoint.resource.model_version
        new = version.decode(obj, DecodeReport())
        new["kind"], new["apiVersion"] = resource.kind, resource.api_version
        meta = new.setdefault("metadata", {})
        if namespace:
            meta["namespace"] = namespace
        version.default(new)
        write = self._begin(endpoint, "create", namespace, meta.get("name", ""))
        track_fields(write, new)
        try:
            return await create_object(write, new)
        except StatusError as error:
            if error.reason != "AlreadyExists":
                raise
            return None

    async def change(self, endpoint: Endpoint, namespace: str, name: str, alter: Alter, *, uid: str = "") -> bool:
        """Changes an object (served version) by `alter`. Returns whether it exists. Raises StatusError, StorageError.

        With `uid`, an object of the same name with another uid counts as missing.
        """
        return await self.changed(endpoint, namespace, name, alter, uid=uid) is not None

    async def changed(
        self, endpoint: Endpoint, namespace: str, name: str, alter: Alter, *, uid: str = ""
    ) -> Written | None:
        """As `change`, but returns the written object, None if it does not exist."""
        write = self._begin(endpoint, "update", namespace, name)

        def make(present: Present) -> Made:
            assert present.obj is not None
            new: JsonObject = loads(dumps(present.obj))
            if not alter(new):
                return Made(present.obj, withdrawn=True)
            track_fields(write, new, present)
            return Made(new)

        try:
            return await update_object(write, make, uid=uid)
        except StatusError as error:
            other = uid and error.reason == "Conflict" and "Precondition failed" in error.message
            if error.reason == "NotFound" or other:
                return None
            raise

    async def apply(self, endpoint: Endpoint, namespace: str, name: str, fields: JsonObject, manager: str = "") -> bool:
        """Applies fields (served version) with force. Returns whether the object exists. Raises StatusError,
        StorageError.
        """
        manager, via = manager or self._manager or self.user.name, self._via.get(endpoint.store)
        options = WriteOptions(manager=manager, validation="Strict", force=True)
        write = begin_as(endpoint, self.user, "patch", namespace, name, manager, via=via, options=options)
        resource = endpoint.resource
        configuration = {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": {"name": name},
            **fields,
        }
        try:
            await update_object(write, applying(write, configuration))
        except StatusError as error:
            if error.reason != "NotFound":
                raise
            return False
        return True

    async def delete(self, endpoint: Endpoint, namespace: str, name: str, options: DeleteOptions) -> bool:
        """Deletes an object. Returns whether it existed. Raises StatusError, StorageError."""
        write = self._begin(endpoint, "delete", namespace, name)
        try:
            await delete_object(write, options)
        except StatusError as error:
            if error.reason != "NotFound":
                raise
            return False
        return True

    def _begin(self, endpoint: Endpoint, verb: str, namespace: str, name: str) -> Write:
        via = self._via.get(endpoint.store)
        if self._rewrites:
            via = (via or endpoint.store).rewriting()
        return begin_as(endpoint, self.user, verb, namespace, name, self._manager, via=via)
