"""How a resource is read: where its objects are, and how their bytes become those of an answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from weakref import WeakValueDictionary

from gateway.jsontypes import dumps, loads
from gateway.kinds.resource import Resource
from gateway.kinds.storage_form import Convert, canonicaliser, converter
from gateway.schema.encode import encode_answer
from gateway.selectors.fields import Selectable
from gateway.verbs.stored import head_of
from gateway.verbs.watch_view import View
from storage.cache import ResourceCache, ResourceSpec, WatchCache
from storage.entry import METADATA, Entry


@dataclass(slots=True)
class Served:
    """One resource in one version, on top of the cache that all its versions share."""

    resource: Resource
    cache: ResourceCache
    head: bytes  # {"kind":"Pod","apiVersion":"v1",
    list_head: bytes  # {"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"
    selectable: Selectable
    convert: Convert | None = None  # from the storage version, where this is another one
    views: WeakValueDictionary[object, View] = field(default_factory=WeakValueDictionary)
    _empty: bytes | None = None

    @property
    def empty(self) -> bytes:
        """What an object has after its metadata when nothing is set, with the closing brace: for bookmarks."""
        if self._empty is None:
            from gateway.schema.catalog import type_of
            from gateway.schema.decode import DecodeReport, decode

            obj = decode(type_of(self.resource.type_name), {}, DecodeReport())
            rest = dumps({key: value for key, value in obj.items() if key != "metadata"})
            self._empty = b"," + rest[1:] if len(rest) > 2 else b"}"
        return self._empty

    def key(self, namespace: str, name: str) -> bytes:
        """The etcd key of an object."""
        prefix = self.cache.spec.prefix
        return prefix + f"{namespace}/{name}".encode() if self.resource.namespaced else prefix + name.encode()

    def collection(self, namespace: str) -> bytes:
        """The prefix of the keys of a namespace's objects, or of all of them."""
        prefix = self.cache.spec.prefix
        return prefix + namespace.encode() + b"/" if namespace and self.resource.namespaced else prefix

    def tail(self, entry: Entry) -> bytes:
        """An object in this version, without the head: `"metadata":{…},…}`."""
        if self.convert is None:
            return entry.tail
        return self._converted(entry)

    def _converted(self, entry: Entry) -> bytes:
        assert self.convert is not None
        obj = self.convert(loads(self.cache.spec.head + entry.tail))
        return encode_answer(obj, self.resource.kind, self.resource.api_version)[len(self.head) : -1]


def serve(resource: Resource, cache: WatchCache, root: bytes) -> Served:
    """Registers a resource with the watch cache and says how it is read."""
    spec = ResourceSpec(
        prefix=root + resource.storage_prefix.encode() + b"/",
        head=head_of(resource.kind, resource.storage_version),
        canonicalise=canonicaliser(resource.kind, resource.storage_version),
        attributes_of=resource.model.attributes_of,
    )
    return Served(
        resource=resource,
        cache=cache.register(spec),
        head=head_of(resource.kind, resource.api_version),
        list_head=head_of(resource.kind + "List", resource.api_version) + METADATA + b'"resourceVersion":"',
        selectable=resource.model_version.selectable,
        convert=converter(resource.kind, resource.storage_version, resource.api_version),
    )
