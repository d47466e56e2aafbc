"""Charges the writes of a namespace in groups: one transaction for the quotas, then all objects at once.

A single write is charged in its own transaction, so that object and quota have the same mod revision. Writes that
arrive meanwhile make a group. One transaction charges all writes of the group that fit. Then each object is put in a
transaction that compares the values of the quotas with those of the charge, and writes them again unchanged. So object
and quota have the same mod revision here too: it shows that the object is counted. If another write has undone the
charge meanwhile, as a recount does, the comparison fails and the object is charged again. The next transaction gives
back the charges for objects that were not put. The value that a group writes ends in white space of its own, so that no
other write leaves an equal value.

A transaction of etcd has at most 128 operations. A write that changes more quotas than `AT_ONCE` is charged like a
group, in several transactions, and its object's transaction compares the first `AT_ONCE` of them.

Objects in another etcd than the quotas are always charged as a group, and put without a comparison. If a recount undoes
the charge before the object is put, only the next recount corrects that (controllers/resource_quotas.py).
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

from gateway.pieces import survive_async
from gateway.quotas.amounts import ZERO, Amounts, plus, without_zeros
from gateway.quotas.charge_state import stands
from gateway.quotas.check import Exceeded
from gateway.quotas.known import Charged, KnownQuotas
from gateway.quotas.marks import new_mark
from gateway.quotas.quota import Quota
from storage.change import Changed, Swapping
from storage.errors import REFUSALS, BesideChanged, Conflict, StorageError
from storage.protocol import Swap

logger = logging.getLogger(__name__)

MOST = 64  # writes of a group
AT_ONCE = 100  # quotas that one transaction changes
TOGETHER = 3  # times that a write is charged with others, before it is charged alone


class Ended(Enum):
    """The outcome of a charged write."""

    MADE = auto()
    NOT_MADE = auto()
    UNKNOWN = auto()


@dataclass(slots=True, eq=False)
class _Member:
    """A write that waits. `go` gets the quotas to swap in its transaction; `ended` gets its outcome."""

    charged: Charged
    alone: bool
    go: asyncio.Future[Sequence[Swap]]
    ended: asyncio.Future[Ended]
    probe: bool = False  # whether the write is only checked, and charges nothing
    charges: dict[bytes, Amounts] = field(default_factory=dict)  # by the quota's key


@dataclass(frozen=True, slots=True)
class _Owed:
    """The part of a quota's charge, made at this mod revision, that has to be given back."""

    revision: int
    value: bytes  # the quota after the charge
    amounts: Amounts


class WriteQueue:
    """The writes of one namespace, in the order in which they came."""

    def __init__(self, known: KnownQuotas, namespace: str) -> None:
        self._known, self._namespace = known, namespace
        self._waiting: deque[_Member] = deque()
        self._owed: dict[bytes, _Owed] = {}
        self._task: asyncio.Task[None] | None = None

    @property
    def busy(self) -> bool:
        """Whether writes are under way, or charges of failed writes have to be given back."""
        return self._task is not None

    async def room(self, charged: Charged) -> None:
        """Checks a write when it is its turn, and charges nothing. Raises Forbidden, Uncovered, StorageError."""
        member = self._join(charged, 0, probe=True)
        try:
            await member.go
        finally:
            member.ended.set_result(Ended.MADE)

    async def made(self, charged: Charged, write: Swapping) -> Changed:
        """Charges and makes a write when it is its turn. Raises Forbidden, Uncovered, and what `write` raises."""
        attempts = 0
        while True:
            member = self._join(charged, attempts)
            ended = Ended.NOT_MADE
            swaps: Sequence[Swap] = ()
            try:
                swaps = await member.go
                ended = Ended.UNKNOWN
                changed = await write(swaps)
                ended = Ended.MADE
                self._known.made(swaps, changed.revision)
                return changed
            except BesideChanged as lost:
                ended = Ended.NOT_MADE
                self._known.learn(swaps, lost.found)
                attempts += 1
            except Exception as error:
                if isinstance(error, REFUSALS) or not isinstance(error, StorageError):
                    ended = Ended.NOT_MADE
                raise
            finally:
                member.ended.set_result(ended)

    def _join(self, charged: Charged, attempts: int, *, probe: bool = False) -> _Member:
        """Adds a write at the end of the line, or at its head if the write's charge was lost."""
        loop = asyncio.get_running_loop()
        member = _Member(charged, attempts >= TOGETHER, loop.create_future(), loop.create_future(), probe)
        if attempts:
            self._waiting.appendleft(member)
        else:
            self._waiting.append(member)
        if self._task is None:
            self._task = loop.create_task(self._run())
        return member

    async def _run(self) -> None:
        try:
            while self._waiting or self._owed:
                await survive_async(self._charge_next, self._next(), self._fail, None)
        finally:
            self._task = None
            while self._waiting:  # the server ends
                self._waiting.popleft().go.cancel()

    async def _charge_next(self, members: list[_Member]) -> None:
        if len(members) == 1 and not (self._owed or members[0].charged.apart):
            await self._alone(members[0])
        else:
            await self._together(members)

    def _fail(self, members: list[_Member], error: Exception) -> None:
        """Fails the waiting members of a group with the error. The members behind them are charged next."""
        self._owed = {}  # the charge may or may not be given back: a recount corrects it
        waiting = [member for member in members if not member.go.done()]
        for member in waiting:
            member.go.set_exception(error)
        if not waiting and not isinstance(error, StorageError):  # other code logs that etcd cannot be reached
            logger.error(
                "the quota usage of failed writes was not reduced; the next recount corrects it", exc_info=error
            )

    def _next(self) -> list[_Member]:
        """Takes the members that are charged next out of the line."""
        found: list[_Member] = []
        while self._waiting and len(found) < MOST:
            first = self._waiting[0]
            alone = not first.charged.apart and (first.alone or not self._known.comparable)
            if alone and (found or self._owed):
                break
            member = self._waiting.popleft()
            if not member.ended.done() and not member.go.done():  # else its client has gone
                found.append(member)
            if alone:
                break
        return found

    async def _alone(self, member: _Member) -> None:
        try:
            becomes = self._known.check(member.charged)
            swaps = None if len(becomes) > AT_ONCE else self._known.swaps(becomes)
        except Exception as error:
            member.go.set_exception(error)
        else:
            if swaps is None:
                return await self._together([member])
            member.go.set_result(swaps)
        await member.ended

    async def _together(self, members: list[_Member]) -> None:
        charged, guards = await self._charge(members)
        comparable = self._known.comparable
        for member in charged:
            if not member.go.done():
                unguarded = member.charged.apart or not comparable
                member.go.set_result([] if unguarded else [guards[key] for key in sorted(member.charges)[:AT_ONCE]])
        for member in charged:
            if await member.ended is Ended.NOT_MADE:
                self._owe(member, guards)

    def _owe(self, member: _Member, guards: Mapping[bytes, Swap]) -> None:
        for key, amounts in member.charges.items():
            guard, owed = guards[key], self._owed.get(key)
            self._owed[key] = _Owed(guard.expected, guard.value, plus(owed.amounts, amounts) if owed else amounts)

    async def _charge(self, members: list[_Member]) -> tuple[list[_Member], dict[bytes, Swap]]:
        """Charges the members that fit, and gives back what is owed.

        Returns the charged members, and the swaps that write the charged quotas again if they are unchanged. A member
        that does not fit beside others waits for their outcome. Raises StorageError.
        """
        mark = new_mark()
        while True:
            quotas = {quota.key: quota for quota in self._known.of(self._namespace)}
            present = dict(quotas)
            changed = await self._give_back(quotas)
            lower = dict(quotas)
            charged, later = await self._fitting(members, quotas)
            changed |= {key for member in charged for key in member.charges}
            guards = await self._swapped_all([(present[key], quotas[key].used) for key in sorted(changed)], mark)
            if len(guards) < len(changed):
                self._owe_back(guards, lower, quotas)
                continue
            self._owed = {}
            self._waiting.extendleft(reversed(later))
            return charged, guards

    async def _swapped_all(self, changes: Sequence[tuple[Quota, Amounts]], mark: bytes) -> dict[bytes, Swap]:
        """Writes quotas with a new usage, `AT_ONCE` in a transaction; stops at a quota that has changed. Returns the
        guards of the written ones by key: swaps that write them again if they are unchanged.
        """
        guards: dict[bytes, Swap] = {}
        for start in range(0, len(changes), AT_ONCE):
            piece = [self._known.swap(quota, used, mark) for quota, used in changes[start : start + AT_ONCE]]
            revision = await self._swapped(piece)
            if not revision:
                break
            self._known.made(piece, revision)
            guards |= {swap.key: Swap(swap.key, swap.value, revision, same=True) for swap in piece}
        return guards

    def _owe_back(
        self, guards: Mapping[bytes, Swap], lower: Mapping[bytes, Quota], quotas: Mapping[bytes, Quota]
    ) -> None:
        """Notes the charge of the quotas of `guards`, from `lower` to `quotas`, for writes that are not made yet."""
        for key, guard in guards.items():
            before = lower[key].used
            grown = {name: amount - before.get(name, ZERO) for name, amount in quotas[key].used.items()}
            self._owed[key] = _Owed(guard.expected, guard.value, without_zeros(grown))

    async def _swapped(self, swaps: Sequence[Swap]) -> int:
        """Writes quotas in one transaction. Returns its revision, or 0 if nothing was written: one had changed."""
        first, *others = swaps
        try:
            return await self._known.store.update(first.key, first.value, first.expected, 0, others)
        except Conflict as lost:
            self._known.learn([first], [lost.current])
        except BesideChanged as lost:
            self._known.learn(others, lost.found)
        return 0

    async def _fitting(
        self, members: Sequence[_Member], quotas: dict[bytes, Quota]
    ) -> tuple[list[_Member], list[_Member]]:
        """Charges the members that fit to `quotas`, in place. Returns them, and those that do not fit beside them.

        A member that does not fit alone is refused. Other tasks run between two members if there are many quotas.
        """
        charged: list[_Member] = []
        later: list[_Member] = []
        for member in members:
            if len(quotas) > AT_ONCE and len(members) > 1:
                await asyncio.sleep(0)
            if member.go.done():
                continue
            try:
                becomes = self._known.check(member.charged, list(quotas.values()))
            except Exceeded as error:
                if any(other.charges for other in charged):
                    later.append(member)
                else:
                    member.go.set_exception(error)
            except Exception as error:
                member.go.set_exception(error)
            else:
                if not member.probe:
                    self._add(member, becomes, quotas)
                charged.append(member)
        return charged, later

    def _add(self, member: _Member, becomes: Mapping[Quota, Amounts], quotas: dict[bytes, Quota]) -> None:
        member.charges = {}
        for quota, used in becomes.items():
            if self._known.is_readable(quota.key):
                grown = {name: amount - quota.used.get(name, ZERO) for name, amount in used.items()}
                member.charges[quota.key] = without_zeros(grown)
                quotas[quota.key] = quota.using(used)

    async def _give_back(self, quotas: dict[bytes, Quota]) -> set[bytes]:
        """Subtracts owed parts that are still charged from `quotas`, in place. Returns the keys of changed quotas."""
        changed: set[bytes] = set()
        for key, owed in self._owed.items():
            quota = quotas.get(key)
            if quota is None or not self._known.is_readable(key):
                continue
            if quota.value == owed.value or await stands(self._known.store, quota, owed.revision, owed.amounts):
                used = {name: amount - owed.amounts.get(name, ZERO) for name, amount in quota.used.items()}
                quotas[key] = quota.using(used)
                changed.add(key)
        return changed
