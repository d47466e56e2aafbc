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
from storage.errors import TooLarge
from storage.loading import load, values_of
from storage.store import EtcdStore
from storage.unowned import Value, Values

TRANSACTION_BYTES = 1_000_000  # etcd takes 1.5 MiB
USUAL_OPERATIONS = 128  # etcd's default
MOST_KEPT = 100
ROUNDS = 5  # of restoring, when controllers were at work on what was there before
PATIENCE = 5.0  # seconds of waiting for them

Part = tuple[list[tuple[bytes, bytes]], list[bytes]]  # what is to be put, and deleted


class UnknownSnapshot(KeyError):
    """There is no snapshot of that name."""


class TooManySnapshots(Exception):
    """Some have to be forgotten first."""


class Snapshots:
    """The snapshots of a server. `at_rest` tells whether its controllers have nothing to do."""

    def __init__(self, store: EtcdStore, prefix: str, at_rest: Callable[[], bool]) -> None:
        self._store, self._root, self._at_rest = store, f"{prefix}/".encode(), at_rest
        self._kept: dict[str, Values] = {}
        self._operations = TRANSACTION_OPERATIONS  # as many as the etcd of throw-away servers takes, or less
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
        name = uuid4().hex
        self._kept[name] = await self._state()
        return name

    async def _state(self) -> Values:
        """Everything as it is now: what the cache has, where that is all."""
        values = values_of(self._store.cache) if await self._store.reads.fresh() else None
        if values is None:
            values = (await load(self._store.client, self._root)).values
        for key in [key for key in values if key.startswith(self._excluded)]:
            del values[key]
        return values

    def forget(self, name: str) -> None:
        """Lets a snapshot go. Raises UnknownSnapshot."""
        if self._kept.pop(name, None) is None:
            raise UnknownSnapshot(name)

    async def restore(self, name: str) -> int:
        """Makes the state what it was; how many objects differed. Reads that follow see it, of kinds of its CRDs too.

        Raises UnknownSnapshot and StorageError.
        """
        kept = self._kept.get(name)
        if kept is None:
            raise UnknownSnapshot(name)
        changes = 0
        for _ in range(ROUNDS):
            calm = self._at_rest()  # else they may write what they decided before
            try:
                changes += await self._write_difference(kept)
            except TooLarge:
                if self._operations == USUAL_OPERATIONS:
                    raise
                self._operations = USUAL_OPERATIONS
                changes += await self._write_difference(kept)
            if calm:
                break
            await self._rest()
        if not self._at_rest():  # CRDs that came back are served now
            await self._rest()
        return changes

    async def _write_difference(self, kept: Values) -> int:
        present = await self._state()
        wanted = {key: _raw(each[0]) for key, each in kept.items() if not _same(each, present.get(key))}
        gone = [key for key in present if key not in kept]
        revision = 0
        for puts, deletes in self._parts(wanted, gone):
            revision = await self._store.write(puts, deletes)
            for key, _ in puts:
                kept[key] = kept[key][0], revision
        await self._store.reads.not_older_than(revision)
        return len(wanted) + len(gone)

    def _parts(self, puts: dict[bytes, bytes], deletes: list[bytes]) -> Iterator[Part]:
        """Splits the changes into transactions: one if possible, so that nobody sees an intermediate state."""
        part: Part = ([], [])
        size = count = 0
        for key, value in (*puts.items(), *((key, None) for key in deletes)):
            more = len(key) + len(value or b"") + 32
            if count and (size + more > TRANSACTION_BYTES or count == self._operations):
                yield part
                part, size, count = ([], []), 0, 0
            size, count = size + more, count + 1
            if value is None:
                part[1].append(key)
            else:
                part[0].append((key, value))
        if count:
            yield part

    async def _rest(self) -> None:
        """Waits until controllers have done what they were told to by what was there before."""
        deadline = time.monotonic() + PATIENCE
        while True:
            await asyncio.sleep(0.002)
            if self._at_rest() or time.monotonic() > deadline:
                return


def _raw(value: Value) -> bytes:
    """What etcd is to hold."""
    return value if isinstance(value, bytes) else value.stored().raw


def _same(kept: tuple[Value, int], present: tuple[Value, int] | None) -> bool:
    """Whether a key is as it was: not written since, or to the same."""
    return present is not None and (kept[1] == present[1] or _raw(kept[0]) == _raw(present[0]))
