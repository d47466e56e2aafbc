"""Changes one object by compare-and-swap, and tries again after each conflict."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple, Protocol

from storage.errors import REFUSALS, Conflict, CorruptObject, KeyExists, LeaseNotFound, StorageError, StoredObject
from storage.protocol import Store, Swap

Finish = Callable[[bool], Awaitable[None]]  # its argument: whether the write was made


Swapping = Callable[[Sequence[Swap]], Awaitable["Changed"]]


class Charge(Protocol):
    """Other objects that the same transaction writes, such as the status of a quota."""

    async def carried(self, write: Swapping) -> Changed:
        """Calls `write` with the other objects. After BesideChanged it calls `write` again with their present versions.

        To refuse the write it raises an error of its own before it calls `write`. It also raises what `write` raises.
        """
        ...


class Put(NamedTuple):
    """Stores a value, under a lease if one is given. `finish` is awaited once it is known whether it was stored.

    `another_lease` returns a new lease if etcd no longer has the given one. `charge` makes the write, or refuses it.
    If this write is not the `last`, `change` calls `make` again with the stored version.
    """

    value: bytes
    lease: int = 0
    finish: Finish | None = None
    another_lease: Callable[[int], Awaitable[int]] | None = None
    charge: Charge | None = None
    last: bool = True


@dataclass(frozen=True, slots=True)
class Delete:
    """Deletes the object. `finish` is awaited once it is known whether it was deleted."""

    finish: Finish | None = None


class Keep:
    """Leaves everything as it is."""


KEEP = Keep()
Decision = Put | Delete | Keep
Make = Callable[[StoredObject | None], Awaitable[Decision]]


async def removed(current: StoredObject | None) -> Decision:
    """A `Make` that deletes any version of the object."""
    return KEEP if current is None else Delete()


class Outcome(Enum):
    """What `change` did with an object."""

    CREATED = auto()
    UPDATED = auto()
    DELETED = auto()
    UNCHANGED = auto()


class Changed(NamedTuple):
    """The result of `change`. `before` is the version on which `make` decided, None if there was none."""

    outcome: Outcome
    before: StoredObject | None
    after: StoredObject | None  # None if the object was deleted, or never existed
    revision: int  # of the write; for UNCHANGED the object's mod revision, 0 if there is no object


async def change(store: Store, key: bytes, make: Make, *, start: StoredObject | None = None) -> Changed:
    """Calls `make` with the present version of an object (None: there is none) and carries out its decision.

    The first version that `make` gets is `start`, else the cached one; both may be stale. After a lost
    compare-and-swap `make` gets the present version, and after a write that is not the last, the written one. An error
    of `make`, or KEEP, may come from a stale version: `change` then reads the most recent version, and calls `make`
    again if that differs. So `make` may be called several times; each call has to undo the side effects of the last.

    `finish` is awaited with True after a write, with False after a write that was certainly not made, and not at all
    when the outcome is unknown. Raises what `make` raises, Unavailable, TooLarge, NoSpace; and CorruptObject where
    `make` looks at a value that can't be read.
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
                failure = None  # breaks a cycle: its traceback refers to this frame
        return Changed(Outcome.UNCHANGED, current, current, _revision(current))


async def write_once(store: Store, key: bytes, current: StoredObject | None, decision: Put | Delete) -> Changed:
    """Carries out a decision if `current` (None: no object) is still the present version.

    Raises Conflict or KeyExists with the present version, Unavailable, TooLarge, NoSpace. `finish` is awaited as for
    `change`.
    """
    try:
        done = await _write(store, key, current, decision)
    except Exception as error:  # one that is not a StorageError comes from the charge, before the write
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
