"""The version in which writes see the objects of a resource, and the conversions between it and the values in etcd.

For a built-in kind that is the storage version, for which its rules are written. For a custom kind it is the version
of the request, since each version has its own rules.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from gateway.apply.nonconformity import nonconformity
from gateway.endpoints.versions import Versions
from gateway.jsontypes import JsonObject, loads
from gateway.kinds.identity import GroupVersion
from gateway.kinds.model import Version
from gateway.kinds.resource import Resource
from gateway.kinds.stored_head import head_of
from gateway.schema.encode import encode_stored
from gateway.schema.types import Type
from storage.errors import StoredObject

Encode = Callable[[JsonObject], Awaitable[bytes]]
"""Calls `WriteVersion.encode`, in a thread if the object is large."""


class WriteVersion(Protocol):
    """The version in which the writes of an endpoint see objects."""

    @property
    def api_version(self) -> str:
        """The apiVersion."""

    @property
    def type(self) -> Type:
        """The schema."""

    def for_manager(self, obj: JsonObject, version: Version) -> tuple[JsonObject, Type]:
        """Converts an object to a version of its managedFields. Raises ValueError if it does not conform to it."""

    def encode(self, obj: JsonObject) -> bytes:
        """The canonical value of an object, in the object's own version."""

    async def read(self, value: bytes) -> bytes:
        """Converts a value from etcd to the version in which writes see it. Raises ConversionFailed."""

    async def value(self, obj: JsonObject, encode: Encode) -> bytes:
        """The value of an object to store in etcd. Raises ConversionFailed."""

    def is_current(self, stored: StoredObject) -> bool:
        """Whether etcd has a value in the present form. If not, it is stored again even if nothing changed."""


class AsStored:
    """For built-in kinds: writes see objects in the storage version.

    Kinds that are never stored, such as reviews, and kinds of another group, such as Scale, have the served version.
    """

    def __init__(self, resource: Resource) -> None:
        self._resource, self._model = resource, resource.model
        served = resource.foreign_kind or not resource.storage_version
        self.api_version = resource.api_version if served else resource.storage_version

    @property
    def type(self) -> Type:
        return self._model.stored.type if self._model.storage_prefix else self._resource.model_version.type

    def for_manager(self, obj: JsonObject, version: Version) -> tuple[JsonObject, Type]:
        source = GroupVersion.parse(obj["apiVersion"])
        return self._model.convert(obj, source, version.gvk.group_version), version.type

    def encode(self, obj: JsonObject) -> bytes:
        return encode_stored(obj, self._resource.kind, self._resource.storage_version)

    async def read(self, value: bytes) -> bytes:
        return value

    async def value(self, obj: JsonObject, encode: Encode) -> bytes:
        return await encode(obj)

    def is_current(self, stored: StoredObject) -> bool:
        return not stored.anew  # the cache holds every value in the storage version


class AsServed:
    """For custom kinds: writes see objects in the version of the request, since each version has its own rules."""

    def __init__(self, resource: Resource, versions: Versions) -> None:
        self._resource, self._model, self._versions = resource, resource.model, versions
        self._stored_head = head_of(self._model.kind, self._model.storage_version.api_version)
        self.api_version = resource.api_version

    @property
    def type(self) -> Type:
        return self._resource.model_version.type

    def for_manager(self, obj: JsonObject, version: Version) -> tuple[JsonObject, Type]:
        if self._model.convert_all is not None:  # gateway.writing.conversions converts by webhook, for updates only
            return obj, self._resource.type
        converted = {**obj, "apiVersion": version.api_version}
        if problem := nonconformity(converted, version.type):
            raise ValueError(problem)
        return converted, version.type

    def encode(self, obj: JsonObject) -> bytes:
        version = self._model.versions[GroupVersion.parse(obj["apiVersion"])]
        return encode_stored(obj, self._model.kind, version.api_version, version.type)

    async def read(self, value: bytes) -> bytes:
        if value.startswith(self._versions.head):
            return value
        (obj,) = await self._versions.convert_all([loads(value)])
        return encode_stored(obj, self._model.kind, str(self._versions.version), self.type)

    async def value(self, obj: JsonObject, encode: Encode) -> bytes:
        if self._versions.version != self._model.storage_version:
            obj = await self._versions.to_storage(obj)
        return await encode(obj)

    def is_current(self, stored: StoredObject) -> bool:
        return not stored.anew and stored.value.startswith(self._stored_head)


def write_version(resource: Resource, versions: Versions) -> WriteVersion:
    """The write version of a resource's kind."""
    return AsServed(resource, versions) if resource.model.written_as_served else AsStored(resource)
