"""Finds out whether the owners of an object exist, by kind and name. An owner is absent only if etcd says so."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from gateway.controllers.ownership import Owner, policy_of, uid_of
from gateway.endpoints.endpoint import Endpoint
from gateway.endpoints.foreign import ForeignKind
from gateway.endpoints.table import EndpointTable
from gateway.http.user import User
from gateway.jsontypes import JsonObject, loads
from gateway.memo import Recent, memory_of
from gateway.writing.deletion_plan import FOREGROUND
from storage.entry import Entry

REMEMBERED = 4096  # absent owners; a uid never comes back
_SIZE = 4 << 20  # bytes of them: a reference's texts may have any length


class UnknownKind(Exception):
    """An owner's kind is not served in any version of its group, so it is unknown whether the owner exists."""


class ClusterScoped(Exception):
    """A cluster-scoped object refers to a namespaced owner. This reference is invalid."""


class Presence(Enum):
    """Whether an owner exists."""

    THERE = "there"
    WAITING = "waiting"  # in foreground deletion: waits for its dependents
    ABSENT = "absent"


@dataclass(slots=True)
class Classified:
    """An object's owner references by the presence of the owners: THERE, WAITING, ABSENT."""

    solid: list[Owner] = field(default_factory=list)
    waiting: list[Owner] = field(default_factory=list)
    absent: list[Owner] = field(default_factory=list)


class Owners:
    """Looks up owners in the watch cache, in etcd, and on extension API servers."""

    def __init__(self, endpoints: EndpointTable, user: User) -> None:
        """`user` is the user of requests to extension API servers."""
        self._endpoints, self._user = endpoints, user
        self._foreign = endpoints.services.foreign_objects
        self._absent: Recent[tuple[Owner, str], bool] = Recent(REMEMBERED, _SIZE)
        self._gone: Recent[str, tuple[bytes, str, str]] = Recent(REMEMBERED, _SIZE)  # uid -> key, apiVersion and kind

    async def classify(self, owners: list[Owner], namespace: str) -> Classified:
        """Finds the presence of all owners of an object in a namespace ("" for none).

        Raises UnknownKind, ClusterScoped, StorageError, ForeignError.
        """
        found = Classified()
        for owner in owners:
            match await self.presence(owner, namespace):
                case Presence.THERE:
                    found.solid.append(owner)
                case Presence.WAITING:
                    found.waiting.append(owner)
                case Presence.ABSENT:
                    found.absent.append(owner)
        return found

    async def presence(self, owner: Owner, namespace: str) -> Presence:
        """The presence of an owner, to which an object in a namespace ("" for none) refers. Raises as `classify`."""
        remembered = owner._replace(blocks=False), namespace
        if self._absent.find(remembered):
            return Presence.ABSENT
        endpoint = self.endpoint(owner)
        if endpoint is None and (kind := self.foreign(owner)) is not None:
            found = await self._abroad(kind, owner, namespace)
            return found or self._remember(remembered)
        if endpoint is None:
            if not await self._is_gone(owner):
                raise UnknownKind(f"no matches for kind {owner.kind!r} in version {owner.api_version!r}")
            return Presence.ABSENT
        key = self._key(endpoint, owner, namespace)
        entry = endpoint.cache.get(key)
        if entry is not None and entry.readable is entry and uid_of(entry) == owner.uid:
            return _presence(entry)
        stored = await endpoint.store.get(key)
        if stored is not None:
            metadata = loads(stored.value)["metadata"]
            if metadata.get("uid") == owner.uid:
                return _waits(metadata)
        return self._remember(remembered)

    def _remember(self, absent: tuple[Owner, str]) -> Presence:
        self._absent.keep(absent, True, memory_of(absent))
        return Presence.ABSENT

    async def _abroad(self, kind: ForeignKind, owner: Owner, namespace: str) -> Presence | None:
        """The presence of an owner on an extension API server; None if the server does not have it."""
        place = _place(kind.namespaced, owner, namespace)
        if self._foreign.holds(kind, place, owner.name, owner.uid):
            return Presence.THERE
        metadata = await self._foreign.metadata(kind, place, owner.name, self._user)
        return _waits(metadata) if metadata is not None and metadata["uid"] == owner.uid else None

    def is_abroad(self, owner: Owner) -> bool:
        """Whether an extension API server serves the owner's kind, and this server does not."""
        return self.foreign(owner) is not None and self.endpoint(owner) is None

    def note_deletion(self, uid: str, key: bytes, api_version: str, kind: str) -> None:
        """Remembers a deleted object, because its kind may not be served any more when a dependent is checked."""
        self._gone.keep(uid, (key, api_version, kind), memory_of((uid, key, api_version, kind)))

    async def _is_gone(self, owner: Owner) -> bool:
        """Whether this process saw the deletion of an owner of an unserved kind, and etcd does not have the object."""
        key, api_version, kind = self._gone.find(owner.uid) or (b"", "", "")
        same = (_group(api_version), kind) == (_group(owner.api_version), owner.kind)
        if not same or not key.endswith(f"/{owner.name}".encode()):
            return False
        stored = await self._endpoints.services.stores.of(key).get(key)
        return stored is None or loads(stored.value)["metadata"].get("uid") != owner.uid

    def seems_there(self, owner: Owner, namespace: str) -> bool:
        """Whether the owner is in the caches of this process. Asks neither etcd nor extension API servers."""
        endpoint = self.endpoint(owner)
        try:
            if endpoint is None and (kind := self.foreign(owner)) is not None:
                return self._foreign.holds(kind, _place(kind.namespaced, owner, namespace), owner.name, owner.uid)
            entry = None if endpoint is None else endpoint.cache.get(self._key(endpoint, owner, namespace))
        except ClusterScoped:
            return False
        return entry is not None and entry.readable is entry and uid_of(entry) == owner.uid

    def endpoint(self, owner: Owner) -> Endpoint | None:
        """The endpoint of an owner's kind, in the reference's version or else in another one of the group. None if this
        server does not serve the kind. The version does not matter for identity (kubernetes issues 102641, 137036).
        """
        registry, (group, _, version) = self._endpoints.registry, owner.api_version.rpartition("/")
        resource = registry.by_kind(group, version, owner.kind)
        if resource is None and self._foreign.kind(owner.api_version, owner.kind) is None:
            found = (registry.by_kind(group, each, owner.kind) for each in registry.groups.get(group, ()))
            resource = next((each for each in found if each is not None), None)
        return None if resource is None or not resource.storage_prefix else self._endpoints.of_resource(resource)

    def foreign(self, owner: Owner) -> ForeignKind | None:
        """An owner's kind in an extension API server: in the reference's version, else in another of the group."""
        exact = self._foreign.kind(owner.api_version, owner.kind)
        if exact is not None:
            return exact
        wanted = _group(owner.api_version), owner.kind
        return next((kind for kind in self._foreign.followed() if (kind.group, kind.kind) == wanted), None)

    def _key(self, endpoint: Endpoint, owner: Owner, namespace: str) -> bytes:
        return endpoint.key(_place(endpoint.resource.namespaced, owner, namespace), owner.name)


def _group(api_version: str) -> str:
    return api_version.rpartition("/")[0]


def _place(namespaced: bool, owner: Owner, namespace: str) -> str:
    """The namespace of an owner ("" for a cluster-scoped one) of an object in `namespace`. Raises ClusterScoped."""
    if namespaced and not namespace:
        raise ClusterScoped(f"{owner.kind} {owner.name} is in a namespace")
    return namespace if namespaced else ""


def _presence(entry: Entry) -> Presence:
    if b'"deletionTimestamp":"' not in entry.tail:
        return Presence.THERE
    return _waits(loads(b"{" + entry.tail)["metadata"])


def _waits(metadata: JsonObject) -> Presence:
    waits = metadata.get("deletionTimestamp") and FOREGROUND in (metadata.get("finalizers") or ())
    return Presence.WAITING if waits and policy_of(metadata) else Presence.THERE
