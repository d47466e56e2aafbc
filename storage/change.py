"""Changing one object by compare-and-swap, repeated while other writers are faster."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple, Protocol

from storage.errors import REFUSALS, Conflict, CorruptObject, KeyExists, LeaseNotFound, StorageError, StoredObject
from storage.protocol import Store, Swap

Finish = Callable[[bool], Awaitable[None]]  # told whether the write was made


Swapping = Callable[[Sequence[Swap]], Awaitable["Changed"]]


class Charge(Protocol):
    """What a write changes besides its object: in the same transaction, or not at all."""

    async def carried(self, write: Swapping) -> Changed:
        """Makes the write with what is to be swapped beside it, again where that has changed meanwhile.

        `write` raises BesideChanged then. Raises what it likes before the write to refuse it, and what `write` raises.
        """
        ...


class Put(NamedTuple):
    """Stores a value, under a lease if one is given. `finish` is awaited once it is known whether that was done.

    `another_lease` gives one to take instead of a lease that etcd does not have any more. `charge` has the last word.
    After a write that is not the `last`, `change` asks again what becomes of what was stored.
    """

    value: bytes
    lease: int = 0
    finish: Finish | None = None
    another_lease: Callable[[int], Awaitable[int]] | None = None
    charge: Charge | None = None
    last: bool = True


@dataclass(frozen=True, slots=True)
class Delete:
    """Deletes the object. `finish` is awaited once it is known whether that was done."""

    finish: Finish | None = None


class Keep:
    """Leaves everything as it is."""


KEEP = Keep()
Decision = Put | Delete | Keep
Make = Callable[[StoredObject | None], Awaitable[Decision]]


async def removed(current: StoredObject | None) -> Decision:
    """A `Make` that has the object gone, whatever it is."""
    return KEEP if current is None else Delete()


class Outcome(Enum):
    """What became of an object."""

    CREATED = auto()
    UPDATED = auto()
    DELETED = auto()
    UNCHANGED = auto()


class Changed(NamedTuple):
    """What `change` did. `before` is the version that the decision was made from, None if there was none."""

    outcome: Outcome
    before: StoredObject | None
    after: StoredObject | None  # None if there is none any more, or still none
    revision: int  # of the write; unchanged, that of the object, or 0 for none


async def change(store: Store, key: bytes, make: Make, *, start: StoredObject | None = None) -> Changed:
    """Does with an object what `make` decides of its present version (None: there is none).

    The first version that `make` sees is `start`, else the cached one; both may be stale. When the write loses against
    another one, it goes on with what is there now; after a write that is not the last, with what it wrote. Before an
    error of `make` is raised, and before KEEP is taken for an answer, the most recent version is read, unless it was
    just read anyway: `make` is asked again if that is another one. So `make` may be called several times; each
    call has to undo what the last one did besides deciding.

    A `finish` is awaited with True after a write, with False after one that was certainly not made, and not at all when
    that is not known. Raises what `make` raises, Unavailable, TooLarge, NoSpace; and CorruptObject where `make` looks
    at a value that can't be read.
    """
    current = start or store.cached(key)
    fresh = current is None
    if current is None:
        current = await store.get(key)
    while True:
        failure: Exception | None = None
        decision: Decision = KEEP
        try:
            decision = await make(current)
        except Exception as error:
            if fresh or (isinstance(error, StorageError) and not isinstance(error, CorruptObject)):
                raise
            failure = error
        if not isinstance(decision, Keep):
            try:
                done = await write_once(store, key, current, decision)
            except (Conflict, KeyExists) as lost:
                current, fresh = lost.current, True
                continue
            if not isinstance(decision, Put) or decision.last:
                return done
            current, fresh = done.after, True
            continue
        if not fresh:
            latest, fresh = await store.latest(key), True
            if _revision(latest) != _revision(current):
                current = latest
                continue
        if failure is not None:
            try:
                raise failure
            finally:
                failure = None  # its traceback has this frame, and with it what was written and by what rules
        return Changed(Outcome.UNCHANGED, current, current, _revision(current))


async def write_once(store: Store, key: bytes, current: StoredObject | None, decision: Put | Delete) -> Changed:
    """Does what was decided of the version `current` (None: there is none) if that is the present one.

    Raises Conflict or KeyExists with what is there instead, Unavailable, TooLarge, NoSpace; `finish` is told.
    """
    try:
        done = await _write(store, key, current, decision)
    except Exception as error:  # of no storage: that of a charge, before anything was written
        if decision.finish is not None and (isinstance(error, REFUSALS) or not isinstance(error, StorageError)):
            await decision.finish(False)
        raise
    if decision.finish is not None:
        await decision.finish(True)
    return done


def _write(store: Store, key: bytes, current: StoredObject | None, decision: Put | Delete) -> Awaitable[Changed]:
    if isinstance(decision, Delete):
        return _delete(store, key, current)
    if decision.charge is None:
        return _put(store, key, current, decision)
    return decision.charge.carried(lambda beside: _put(store, key, current, decision, beside))


async def _delete(store: Store, key: bytes, current: StoredObject | None) -> Changed:
    if current is None:
        return Changed(Outcome.UNCHANGED, None, None, 0)
    return Changed(Outcome.DELETED, current, None, await store.delete(key, current.revision))


async def _put(
    store: Store, key: bytes, current: StoredObject | None, put: Put, beside: Sequence[Swap] = ()
) -> Changed:
    while True:
        try:
            if current is None:
                outcome, revision = Outcome.CREATED, await store.create(key, put.value, put.lease, beside)
            else:
                revision = await store.update(key, put.value, current.revision, put.lease, beside)
                outcome = Outcome.UPDATED
        except LeaseNotFound:
            if put.another_lease is None:
                raise
            put = put._replace(lease=await put.another_lease(put.lease), another_lease=None)
        else:
            return Changed(outcome, current, StoredObject(key, put.value, revision), revision)


def _revision(stored: StoredObject | None) -> int:
    return 0 if stored is None else stored.revision
