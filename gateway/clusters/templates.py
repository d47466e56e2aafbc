"""Templates: the objects that control planes begin with, packed into few keys beside all control planes.

A template is named by a digest of its content, so all processes, of other versions too, read the same objects for a
control plane. In a template, numbers stand for uids and for times, each after bytes that no object has: the hole. Each
control plane gets uids that follow from its own uid, and the time at which it was made (storage/seeded/).
"""

from __future__ import annotations

import asyncio
import re
import zlib
from collections import deque
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from hashlib import sha1, sha256
from uuid import UUID
from weakref import WeakValueDictionary

from gateway.clusters.definition import ANNOUNCEMENTS, MADE
from gateway.jsontypes import dumps, loads
from gateway.kinds.metadata import now_text
from storage.errors import StorageError
from storage.etcd import EtcdClient, KeyValue
from storage.etcd.operations import delete, is_there, mod_revision_is, none_between, put
from storage.etcd.results import DeleteResult
from storage.keys import prefix_end
from storage.leading import Leading
from storage.seeded.contents import Contents
from storage.seeded.seeds import Seeds

PART = b"templates/"
"""Below the common prefix, where no control plane is: a uid has another form."""

_CHUNK = 1 << 20  # bytes of a key's value; etcd accepts 1.5 MB
_CHUNK_NAME = b"%04d"
_FIRST = _CHUNK_NAME % 0  # is there if all chunks are
_UID = re.compile(rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_EVERY_TIME = re.compile(rb"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_CREATED = re.compile(rb'(?<="creationTimestamp":")20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ(?=")')
# The texts before holes, of values that differ only in uids and times of these members.
_OWN = b'"uid":"', b'"creationTimestamp":"', b'"time":"', b'"lastTransitionTime":"'
_LAST = 4  # templates that are kept though no control plane in memory began with them
_NUMBER, _TIME = b"%012d", 0  # what follows the hole; uids have the numbers from 1 on


@dataclass(frozen=True)
class ClusterTemplate:
    """The keys below a prefix, in order, and their values with holes for uids and times."""

    keys: Sequence[bytes]
    values: Sequence[bytes]
    hole: bytes

    @cached_property
    def packed(self) -> bytes:
        """The bytes that etcd gets."""
        pairs = [[key.decode(), value.decode()] for key, value in zip(self.keys, self.values, strict=True)]
        return zlib.compress(dumps({"hole": self.hole.decode(), "pairs": pairs}), 9)

    @cached_property
    def digest(self) -> str:
        """Names the content."""
        whole = sha256()
        for part in (self.hole, *self.keys, *self.values):
            whole.update(b"%d %b" % (len(part), part))
        return whole.hexdigest()[:32]

    @cached_property
    def pieces(self) -> Sequence[Sequence[bytes]]:
        """The values, cut at their holes; each second piece is a number."""
        holes = re.compile(re.escape(self.hole) + rb"([0-9]{12})")
        return [holes.split(value) for value in self.values]

    @cached_property
    def has_endings(self) -> bool:
        """Whether an object may be one that is being deleted."""
        return any(b'"deletionTimestamp":' in value for value in self.values)

    @cached_property
    def contents(self) -> Contents:
        """The contents that all control planes of this template share."""
        return Contents(self.keys, partial(_is_equal, self.pieces))  # its own method would make a cycle

    def value(self, uid: UUID, time: bytes, place: int) -> bytes:
        """The value of a key for a control plane of this uid, which was made at this time."""
        pieces = list(self.pieces[place])
        for hole in range(1, len(pieces), 2):
            pieces[hole] = time if int(pieces[hole]) == _TIME else _uuid5(uid, pieces[hole])
        return b"".join(pieces)


def _is_equal(pieces: Sequence[Sequence[bytes]], place: int) -> bool:
    """Whether all holes of the value at a place are the values of members of these names. No text within a string ends
    so: its quotes are escaped.
    """
    return all(before.endswith(_OWN) for before in pieces[place][:-1:2])


def _uuid5(space: UUID, name: bytes) -> bytes:
    """The text of `uuid.uuid5`, in a third of the time: a control plane that is loaded needs some hundred."""
    made = bytearray(sha1(space.bytes + name, usedforsecurity=False).digest()[:16])
    made[6], made[8] = made[6] & 0x0F | 0x50, made[8] & 0x3F | 0x80  # version 5, and the variant of RFC 4122
    text = made.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}".encode()


def unpacked(packed: bytes) -> ClusterTemplate:
    """Reads a template from its bytes, and computes the slow parts. To be called in a thread."""
    found = loads(zlib.decompress(packed))
    keys, values = zip(*found["pairs"], strict=True) if found["pairs"] else ((), ())
    template = ClusterTemplate(
        [key.encode() for key in keys], [value.encode() for value in values], found["hole"].encode()
    )
    _ = template.pieces
    return template


def template_as_is(objects: Sequence[tuple[bytes, bytes]]) -> ClusterTemplate:
    """A template of these keys and values, in order, that keeps their uids and times."""
    keys, values = zip(*objects, strict=True) if objects else ((), ())
    return ClusterTemplate(keys, values, _absent(values))


def _absent(values: Collection[bytes]) -> bytes:
    """Bytes that none of the values contains. JSON has no NUL, so one is enough for it."""
    found = b"\0"
    while any(found in value for value in values):
        found += found
    return found


def template_of(objects: Iterable[tuple[bytes, bytes]], uids: Collection[bytes] | None = None) -> ClusterTemplate:
    """A template of these keys and values. Its digest does not depend on uids and times.

    Only these `uids` are exchanged, and the times of creation; None stands for all that look like uids and times.
    """
    ordered, times = sorted(objects), _EVERY_TIME if uids is None else _CREATED
    absent = _absent([value for _, value in ordered])
    holes: dict[bytes, bytes] = {}

    def hole(found: re.Match[bytes]) -> bytes:
        if uids is not None and found.group() not in uids:
            return found.group()
        return holes.setdefault(found.group(), absent + _NUMBER % (len(holes) + 1))

    time = absent + _NUMBER % _TIME
    values = [times.sub(lambda _: time, _UID.sub(hole, value)) for _, value in ordered]
    return ClusterTemplate(tuple(key for key, _ in ordered), values, absent)


class ClusterTemplates:
    """The templates in etcd, and those of them that this process has read."""

    def __init__(self, client: EtcdClient, root: bytes) -> None:
        """`root` is the common prefix of all control planes."""
        self._client, self._root, self._announcements = client, root + PART, root + ANNOUNCEMENTS
        # those in use, and the last ones: another process may have removed the others
        self._known: WeakValueDictionary[str, ClusterTemplate] = WeakValueDictionary()
        self._last: deque[ClusterTemplate] = deque(maxlen=_LAST)
        self._reading: dict[str, asyncio.Task[ClusterTemplate]] = {}
        self._ending = asyncio.Lock()  # held while it is decided who uses a template

    async def keep(self, leading: Leading, template: ClusterTemplate) -> int:
        """Writes a template, unless it is there. Returns the revision, else 0. Raises Fenced, StorageError."""
        self._know(template.digest, template)
        prefix, packed = self._prefix(template.digest), template.packed
        chunks = [packed[at : at + _CHUNK] for at in range(0, len(packed), _CHUNK)]
        revision = 0
        for number, chunk in reversed([*enumerate(chunks)]):  # the first one, which tells that all are there, last
            key = prefix + _CHUNK_NAME % number
            written = await leading.txn([mod_revision_is(key, 0)], [put(key, chunk)])
            revision = written.revision if written.succeeded else revision
        return revision

    def _know(self, digest: str, template: ClusterTemplate) -> None:
        self._known[digest] = template
        self._last.append(template)

    def look_anew(self) -> None:
        """Makes controllers check again all control planes of the templates that this process has read."""
        for template in self._known.values():
            template.contents.look_anew()

    async def _of(self, digest: str) -> ClusterTemplate:
        if digest in self._known:
            return self._known[digest]
        reading = self._reading.get(digest)
        if reading is None:  # one task for all who need it: anybody's request can be one of them
            reading = self._reading[digest] = asyncio.create_task(self._read(digest), name="reading a template")
            reading.add_done_callback(lambda done: done.cancelled() or done.exception())
        return await asyncio.shield(reading)

    async def _read(self, digest: str) -> ClusterTemplate:
        try:
            prefix = self._prefix(digest)
            found = await self._client.range(prefix, prefix_end(prefix))
            if not found.kvs:
                raise StorageError("the template of the control plane is missing in etcd")
            packed = b"".join(kv.value for kv in found.kvs)
            known = await asyncio.to_thread(unpacked, packed)
            self._know(digest, known)
            return known
        finally:
            del self._reading[digest]

    def _prefix(self, digest: str) -> bytes:
        return self._root + digest.encode() + b"/"

    async def begin(
        self, leading: Leading, root: bytes, template: ClusterTemplate, uid: str = "", roles: str = ""
    ) -> int:
        """Makes a template the beginning of the control plane below a root. Returns the revision; 0 if it has one.

        With its `uid`, the template is only for this control plane and some others, until `end` of the last one.
        `roles` is the digest of the default roles that it has, if known. Raises Fenced, StorageError.
        """
        async with self._ending:
            if uid:  # first, so that no leader, a former one neither, removes the template from now on
                await leading.txn([], [put(key, b"") for key in self._uses(template.digest, uid)])
                await self.keep(leading, template)
            content = dumps({"template": template.digest, "time": now_text(), "roles": roles})
            puts = [put(root + MADE, content)]
            if uid and template.has_endings:
                puts.append(put(self._announcements + uid.encode(), b""))
            answer = await leading.txn([mod_revision_is(root + MADE, 0)], puts)
            return answer.revision if answer.succeeded else 0  # else the revision may be of another write

    async def exchange(self, leading: Leading, root: bytes, template: ClusterTemplate, uid: str, roles: str) -> int:
        """Makes a template the beginning of a control plane, and removes its present objects, in one transaction.

        The template is for this control plane alone. Returns the revision. The fence of `leading` is the key `made`:
        raises WholeReplaced if another process has written it, WholeDeleted, StorageError.
        """
        made, content = root + MADE, dumps({"template": template.digest, "time": now_text(), "roles": roles})
        async with self._ending:
            await leading.txn([], [put(key, b"") for key in self._uses(template.digest, uid)])
            await self.keep(leading, template)
            # first the key that tells servers of it: so no client sees deletions
            exchanged = [put(made, content), delete(root, made), delete(made + b"\0", prefix_end(root))]
            exchanged.append(put(self._announcements + uid.encode(), b""))
            # another exchange may have ended the use since
            kept = [is_there(self._use(template.digest, uid)), is_there(self._prefix(template.digest) + _FIRST)]
            answer = await leading.txn(kept, exchanged)
        if not answer.succeeded:
            raise StorageError("another restore has removed what this one has written: run the command again")
        return answer.revision

    async def adopt(self, leading: Leading, uid: str, made: KeyValue | None) -> None:
        """Lists the template of a control plane that an earlier version of the server has made, so that `end` finds it.
        To be called before the key `made` is removed. Raises Fenced, StorageError.
        """
        if made is None or not made.value:
            return
        digest = loads(made.value)["template"]
        use, listed = self._uses(digest, uid)
        await leading.txn([is_there(use), mod_revision_is(listed, 0)], [put(listed, b"")])

    async def end(self, leading: Leading, uid: str, but: str = "") -> int:
        """Removes the templates of a control plane, also what exchanges have left of it, whole or not. Those of the
        digest `but`, and those that another control plane uses, stay. Returns the revision, 0 if nothing was removed.

        Without `but`, the key `made` is gone: else an exchange that still runs may write after this. Raises Fenced,
        StorageError.
        """
        listed, revision = self._listed(uid), 0
        for kv in (await self._client.prefix(listed, keys_only=True)).kvs:
            if (digest := kv.key.removeprefix(listed).decode()) != but:
                revision = max(revision, await self._end(leading, digest, uid))
        return revision

    async def end_remnants(self, leading: Leading, known: Collection[str]) -> None:
        """Removes the templates of control planes that are gone: not one of the `known` uids, and without a key `made`.
        A process that was killed, or an object whose finalizer was removed by hand, leaves them. Raises Fenced,
        StorageError.
        """
        listed = self._root + b"used/"
        found = (await self._client.prefix(listed, keys_only=True)).kvs
        for uid in {kv.key.removeprefix(listed).partition(b"/")[0] for kv in found}:
            name, root = uid.decode(errors="replace"), self._root.removesuffix(PART)
            if name not in known and await self._client.get(root + uid + b"/" + MADE) is None:
                await self.end(leading, name)

    async def _end(self, leading: Leading, digest: str, uid: str) -> int:
        async with self._ending:
            prefix, (use, listed) = self._prefix(digest), self._uses(digest, uid)
            uses = self._use(digest, "")
            alone = [is_there(use), none_between(uses, use), none_between(use + b"\0", prefix_end(uses))]
            both = [delete(use), delete(listed), delete(prefix, prefix_end(prefix))]
            answer = await leading.txn(alone, both)  # whole, beside crashes
            if answer.succeeded:
                self._known.pop(digest, None)
            else:
                answer = await leading.txn([], [delete(use), delete(listed)])
            removed = any(isinstance(each, DeleteResult) and each.deleted for each in answer.results)
            return answer.revision if removed else 0

    def _use(self, digest: str, uid: str) -> bytes:
        """The key that notes that a control plane uses a template which is not for all."""
        return self._root + b"uses/%b/%b" % (digest.encode(), uid.encode())

    def _listed(self, uid: str) -> bytes:
        """Below it are the digests of the templates that a control plane uses, or is about to use."""
        return self._root + b"used/%b/" % uid.encode()

    def _uses(self, digest: str, uid: str) -> tuple[bytes, bytes]:
        """The two keys of a use: one to find the users of a template, one to find the templates of a user."""
        return self._use(digest, uid), self._listed(uid) + digest.encode()

    async def seeds(self, uid: str, made: KeyValue) -> Seeds | None:
        """The template of the control plane with this key `made`; None if its objects are stored without one. Raises
        StorageError.
        """
        if not made.value:
            return None  # an earlier version of the server has made it
        begun = loads(made.value)
        template = await self._of(begun["template"])
        value_of = partial(template.value, UUID(uid), begun["time"].encode())
        return Seeds(made.key.removesuffix(MADE), made, template.contents, value_of)
