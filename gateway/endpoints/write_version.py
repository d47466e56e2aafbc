"""The version in which writes see the objects of a resource, and how these are read from etcd's values and made ones.

There are two ways, and an endpoint has one of them: the rules of a built-in kind are those of its storage version, and
those of a custom kind are of the version that the request names.
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
"""Has `WriteVersion.encode` called, in a thread where the object is big."""


class WriteVersion(Protocol):
    """What an endpoint asks about the version in which its writes see objects."""

    @property
    def api_version(self) -> str:
        """Its apiVersion."""

    @property
    def type(self) -> Type:
        """Its schema."""

    def for_manager(self, obj: JsonObject, version: Version) -> tuple[JsonObject, Type]:
        """An object in a version in which a manager owns fields. Raises ValueError for one that can't be."""

    def encode(self, obj: JsonObject) -> bytes:
        """The canonical value of an object, in the version that it is of."""

    async def read(self, value: bytes) -> bytes:
        """A value of etcd in the version in which writes see it. Raises ConversionFailed."""

    async def value(self, obj: JsonObject, encode: Encode) -> bytes:
        """The value that etcd gets of an object. Raises ConversionFailed."""

    def is_current(self, stored: StoredObject) -> bool:
        """Whether a value is of the storage version: another one is written anew, even if nothing changed."""


class AsStored:
    """Writes see objects in the storage version: built-in kinds.

    What is never stored, as a review, is seen as it is served, and so is a kind of another group, as a Scale.
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
        return True  # the cache has every value in that version


class AsServed:
    """Writes see objects in the version of the request: custom kinds, each of whose versions has rules of its own."""

    def __init__(self, resource: Resource, versions: Versions) -> None:
        self._resource, self._model, self._versions = resource, resource.model, versions
        self._stored_head = head_of(self._model.kind, self._model.storage_version.api_version)
        self.api_version = resource.api_version

    @property
    def type(self) -> Type:
        return self._resource.model_version.type

    def for_manager(self, obj: JsonObject, version: Version) -> tuple[JsonObject, Type]:
        if self._model.convert_all is not None:  # for which only an update waits (gateway.writing.converting)
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
    """The way of a resource's kind."""
    return AsServed(resource, versions) if resource.model.written_as_served else AsStored(resource)
