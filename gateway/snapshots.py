"""Snapshots of the whole state, kept in memory, for tests that want it back as it was.

Restoring writes the difference, in as few transactions as etcd takes, so that watches see it as events; what did not
change is left alone. What belongs to the server's own life stays as it is: its leases and addresses.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from uuid import uuid4

from gateway.controllers import election
from storage.embedded.member import TRANSACTION_OPERATIONS
from storage.etcd import operations
from storage.etcd.kv import prefix_end
from storage.loading import Loaded, load
from storage.store import EtcdStore

TRANSACTION_BYTES = 1_000_000  # etcd takes 1.5 MiB
USUAL_OPERATIONS = 128  # what an etcd takes that nobody has told otherwise
MOST_KEPT = 100
ROUNDS = 5  # of restoring, when controllers were at work on what was there before
PATIENCE = 5.0  # seconds of waiting for them

Part = tuple[list[bytes], list[bytes]]  # keys to be put, and to be deleted


class UnknownSnapshot(KeyError):
    """There is no snapshot of that name."""


class TooManySnapshots(Exception):
    """Some have to be forgotten first."""


class Snapshots:
    """The snapshots of a server. `at_rest` tells whether its controllers have nothing to do."""

    def __init__(self, store: EtcdStore, prefix: str, at_rest: Callable[[], bool], *, own_etcd: bool) -> None:
        self._store, self._root, self._at_rest = store, f"{prefix}/".encode(), at_rest
        self._kept: dict[str, Loaded] = {}
        self._operations = TRANSACTION_OPERATIONS if own_etcd else USUAL_OPERATIONS
        self._excluded = tuple(
            self._root + each
            for each in (
                b"masterleases/",
                b"apiserver-gateway/",
                f"leases/{election.NAMESPACE}/{election.NAME}".encode(),
            )
        )

    async def take(self) -> str:
        """Keeps the state as it is once controllers are at rest; the snapshot's name.

        Raises StorageError and TooManySnapshots.
        """
        if len(self._kept) >= MOST_KEPT:
            raise TooManySnapshots(f"there are {MOST_KEPT} snapshots already; delete some")
        if not self._at_rest():
            await self._rest()
        loaded, _ = await load(self._store.client, self._root)
        name = uuid4().hex
        self._kept[name] = {key: kept for key, kept in loaded.items() if not key.startswith(self._excluded)}
        return name

    def forget(self, name: str) -> None:
        """Lets a snapshot go. Raises UnknownSnapshot."""
        if self._kept.pop(name, None) is None:
            raise UnknownSnapshot(name)

    async def restore(self, name: str) -> int:
        """Makes the state what it was; how many objects differed. Reads that follow see it.

        Raises UnknownSnapshot and StorageError.
        """
        kept = self._kept.get(name)
        if kept is None:
            raise UnknownSnapshot(name)
        changes = 0
        for _ in range(ROUNDS):
            calm = self._at_rest()  # else they may write what they decided before
            changes += await self._write_difference(kept)
            await self._store.reads.fresh()
            if calm:
                break
            await self._rest()
        return changes

    async def _write_difference(self, kept: Loaded) -> int:
        present = await self._store.client.range(self._root, prefix_end(self._root), keys_only=True)
        there = {kv.key: kv.mod_revision for kv in present.kvs if not kv.key.startswith(self._excluded)}
        wanted = [key for key, (value, revision) in kept.items() if not self._is(key, value, revision, there)]
        gone = [key for key in there if key not in kept]
        for puts, deletes in self._parts(wanted, gone, kept):
            parts = [*(operations.put(key, kept[key][0]) for key in puts), *map(operations.delete, deletes)]
            answer = await self._store.client.txn((), parts)
            for key in puts:
                kept[key] = kept[key][0], answer.revision
        return len(wanted) + len(gone)

    def _is(self, key: bytes, value: bytes, revision: int, there: dict[bytes, int]) -> bool:
        """Whether a key is as it was: not written since, or to the same."""
        found = there.get(key)
        if found is None or found == revision:
            return found is not None
        cached = self._store.cached(key)
        return cached is not None and cached.revision == found and cached.value == value

    def _parts(self, puts: list[bytes], deletes: list[bytes], kept: Loaded) -> Iterator[Part]:
        """What goes into one transaction each: in one if that can be, for nobody is to see half of it."""
        part: Part = ([], [])
        size = count = 0
        for key, index in (*((key, 0) for key in puts), *((key, 1) for key in deletes)):
            size += len(key) + (0 if index else len(kept[key][0])) + 32
            count += 1
            if count > 1 and (size > TRANSACTION_BYTES or count > self._operations):
                yield part
                part, size, count = ([], []), len(key) + (0 if index else len(kept[key][0])), 1
            part[index].append(key)
        if count:
            yield part

    async def _rest(self) -> None:
        """Waits until controllers have done what they were told to by what was there before."""
        deadline = time.monotonic() + PATIENCE
        while True:
            await asyncio.sleep(0.002)
            if self._at_rest() or time.monotonic() > deadline:
                return
