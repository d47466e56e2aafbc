"""Ends the wait for a write that etcd will not answer soon: the member that it was sent to is silent, or the leader is
gone.

A member forwards a write to the leader. When that leader is lost, so is the write, and the member says so only after
seven seconds. When the member itself is lost, the connection shows that after ten seconds or more. So a write that
waits for `OVERDUE` seconds is looked into: its member is asked for the raft term, by a linearizable read. An answer in
a later term proves that the member has applied everything that the earlier leader has committed. The write is not
among it, or it would be answered.

That needs the term at the time when the write was sent. A term that an answer told long ago proves nothing: the leader
may have changed before the write, or a restored cluster may count from the beginning. So a term is known only for
`FRESH` seconds. Without a known term the member is asked at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

from grpc import StatusCode
from grpc.aio import AioRpcError, Metadata

from storage.errors import StorageError

Answer = TypeVar("Answer")
Endpoint = TypeVar("Endpoint")

OVERDUE = 0.5  # seconds after which a write is looked into
FRESH = 0.1  # seconds for which a term that an answer told is that of the cluster
LOOK = 0.25  # seconds between two looks
PROBE = 1.0  # seconds for a member's answer
ABANDONED = 5.0  # seconds after which even a write that cannot be sent again is not waited for at a silent member

LEADER_LOST = "etcd's leader was lost before it answered a write"
SILENT = "the etcd member that a write was sent to does not answer, and another one does"


class _Wait(Generic[Endpoint]):
    """A write that waits for its answer. `once`: whether it may be sent again. `term`: the raft term when it began, 0
    while that is not known.
    """

    __slots__ = ("began", "endpoint", "key", "once", "task", "term", "why")

    def __init__(
        self, began: float, endpoint: Endpoint, key: bytes, once: bool, task: asyncio.Task[object] | None, term: int
    ) -> None:
        self.began, self.endpoint, self.key, self.once, self.task, self.term = began, endpoint, key, once, task, term
        self.why = ""  # not empty once the wait was ended here


class Overdue(Generic[Endpoint]):
    """The writes that wait for their answers, at several members. A timer runs only while there are any."""

    def __init__(
        self,
        all: Sequence[Endpoint],
        term_at: Callable[[Endpoint, bytes, float], Awaitable[int]],
        leave: Callable[[Endpoint], None],
    ) -> None:
        """`term_at` asks a member for the raft term, by a linearizable read of a key, in so many seconds. It raises
        StorageError. `leave` is called with a silent member.
        """
        self._all, self._term_at, self._leave = all, term_at, leave
        self._term, self._told = 0, 0.0  # the latest that an answer told, and when, by the loop's clock
        self._asking = dict[Endpoint, asyncio.Task[None]]()
        self._waits = dict[_Wait[Endpoint], None]()  # the oldest first
        self._timer: asyncio.TimerHandle | None = None
        self._looking: asyncio.Task[None] | None = None

    def tell(self, term: int) -> None:
        """Takes the raft term of an answer."""
        now = asyncio.get_running_loop().time()
        if term >= self._term or now - self._told > FRESH:
            self._term, self._told = term, now

    async def answered(self, call: Awaitable[Answer], endpoint: Endpoint, key: bytes, once: bool) -> Answer:
        """The answer of a call. Raises AioRpcError, also when the wait for it is ended early."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        began = loop.time()
        wait = _Wait(began, endpoint, key, once, task, self._term if began - self._told <= FRESH else 0)
        self._waits[wait] = None
        if not wait.term and endpoint not in self._asking:
            self._asking[endpoint] = loop.create_task(self._ask_first(endpoint, key))
        if self._timer is None:
            self._timer = loop.call_later(LOOK, self._look)
        try:
            return await call
        except asyncio.CancelledError:
            if not wait.why or task is None or task.uncancel():
                raise
            raise AioRpcError(StatusCode.UNAVAILABLE, Metadata(), Metadata(), details=wait.why) from None
        finally:
            del self._waits[wait]

    async def close(self) -> None:
        """Looks at no write anymore."""
        if self._timer is not None:
            self._timer.cancel()
        tasks = [*self._asking.values(), *([] if self._looking is None else [self._looking])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _ask_first(self, endpoint: Endpoint, key: bytes) -> None:
        """Asks a member for the term at which writes begin that were sent without a known term."""
        asked = [each for each in self._waits if each.endpoint is endpoint and not each.term]
        try:
            term = await self._asked(endpoint, key)
        finally:
            del self._asking[endpoint]
        for each in asked:
            each.term = term

    def _look(self) -> None:
        loop, self._timer = asyncio.get_running_loop(), None
        if not self._waits:
            return
        self._timer = loop.call_later(LOOK, self._look)
        is_overdue = loop.time() - next(iter(self._waits)).began >= OVERDUE
        if is_overdue and (self._looking is None or self._looking.done()):
            self._looking = loop.create_task(self._look_into())

    async def _look_into(self) -> None:
        """Looks into the overdue writes of each member."""
        due = asyncio.get_running_loop().time() - OVERDUE
        found: dict[Endpoint, list[_Wait[Endpoint]]] = {}
        for wait in self._waits:
            if wait.began <= due:
                found.setdefault(wait.endpoint, []).append(wait)
        await asyncio.gather(*(self._judge(endpoint, waits) for endpoint, waits in found.items()))

    async def _judge(self, endpoint: Endpoint, waits: list[_Wait[Endpoint]]) -> None:
        key = waits[0].key
        if term := await self._asked(endpoint, key):
            self._end([each for each in waits if 0 < each.term < term], LEADER_LOST)
            for each in waits:
                each.term = each.term or term  # the term during the wait: only a later leader has lost the write
            return
        others = (self._asked(each, key) for each in self._all if each is not endpoint)
        if not any(await asyncio.gather(*others)):
            return  # there is no better member
        self._leave(endpoint)
        abandoned = asyncio.get_running_loop().time() - ABANDONED
        self._end([each for each in waits if each.once or each.began <= abandoned], SILENT)

    async def _asked(self, endpoint: Endpoint, key: bytes) -> int:
        """The term that a member tells; 0 if it does not answer."""
        try:
            term = await self._term_at(endpoint, key, PROBE)
        except StorageError:
            return 0
        self.tell(term)
        return term

    def _end(self, waits: Sequence[_Wait[Endpoint]], why: str) -> None:
        for wait in waits:
            if wait in self._waits and not wait.why and wait.task is not None:
                wait.why = why
                wait.task.cancel()
