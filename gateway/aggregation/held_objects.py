"""The objects of one kind of an extension API server, by its list and watch: keys, uids, and counts by namespace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container

from gateway.endpoints.foreign import ForeignError, ForeignKind
from gateway.jsontypes import JsonObject, dumps
from storage.entry import Change, ChangeType, Entry
from storage.keys import namespace_and_name
from storage.time_slice import TimeSlice

MOST = 200_000  # the most objects of one kind: a limit, because the extension API server decides how many there are


class HeldObjects:
    """The objects of one kind. `loaded`: whether they were listed once."""

    def __init__(self, kind: ForeignKind) -> None:
        self.loaded = False
        self._uids: dict[bytes, str] = {}
        self._going: set[bytes] = set()  # objects that are being deleted
        self._counts: Counter[str] = Counter()  # by namespace
        self.follow_as(kind)

    def follow_as(self, kind: ForeignKind) -> None:
        """Sets the followed kind. It may be another version of the same resource."""
        self.kind = kind
        self._head = b'{"kind":%b,"apiVersion":%b,' % (dumps(kind.kind), dumps(kind.api_version))

    def count(self, namespace: str) -> int:
        """The number of objects in a namespace."""
        return self._counts[namespace]

    def has(self, namespace: str, name: str, uid: str) -> bool:
        """Whether an object exists with this uid, and is not being deleted."""
        key = self.kind.key(namespace, name)
        return self._uids.get(key) == uid and key not in self._going

    async def places(self, names: Collection[str], uids: Collection[str]) -> dict[str, str]:
        """By uid, the namespaces of the objects that have one of the names and one of the uids."""
        found, piece = dict[str, str](), TimeSlice()
        for key, uid in list(self._uids.items()):
            if uid in uids:
                namespace, name = namespace_and_name(key, self.kind.prefix)
                if name in names:
                    found[uid] = namespace
            if piece.over():
                await piece.next()
        return found

    def replaces(self, metadata: JsonObject) -> bool:
        """Whether an object has the name of a known one with another uid, whose deletion was not seen."""
        uid: str = metadata["uid"]
        return self._uids.get(self.key(metadata), uid) != uid

    def key(self, metadata: JsonObject) -> bytes:
        """The key of an object."""
        return self.kind.key(metadata.get("namespace", ""), metadata["name"])

    def put(self, metadata: JsonObject) -> Entry:
        """Stores an object, and returns an Entry with its metadata. Raises ForeignError if there are too many."""
        key = self.key(metadata)
        if key not in self._uids:
            if len(self._uids) >= MOST:
                raise ForeignError(f"there are more than {MOST} objects")
            self._counts[metadata.get("namespace", "")] += 1
        self._uids[key] = metadata["uid"]
        (self._going.add if metadata.get("deletionTimestamp") else self._going.discard)(key)
        return Entry(key, self._head, dumps({"metadata": metadata})[1:], 0)

    def remove(self, key: bytes) -> Change | None:
        """Removes an object. Returns its deletion as a Change; None if the object is unknown."""
        uid = self._uids.pop(key, None)
        if uid is None:
            return None
        self._going.discard(key)
        namespace, name = namespace_and_name(key, self.kind.prefix)
        self._counts[namespace] -= 1
        if not self._counts[namespace]:
            del self._counts[namespace]
        tail = dumps({"metadata": {"name": name, "namespace": namespace, "uid": uid}})[1:]
        return Change(ChangeType.DELETED, 0, Entry(key, self._head, tail, 0), None)

    def without(self, present: Container[bytes]) -> list[bytes]:
        """The keys of all objects that are not in `present`."""
        return [key for key in self._uids if key not in present]
