"""Resolves the host names that control planes call, apart from those of the server itself.

A lookup waits in a thread for a name server, and cannot be cancelled. A user of a control plane chooses the names, so
its lookups must not take the threads of others.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from threading import Thread

from gateway.outbound.names import AddressInfo

_MOST = 64  # control planes that have a thread
_MOST_SECOND = 8  # control planes that have a second one

LookUp = Callable[[str], Sequence[AddressInfo]]
Outcome = Sequence[AddressInfo] | OSError | ValueError


def _look_up(host: str) -> Sequence[AddressInfo]:
    return socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)


class Lookups:
    """The threads for the lookups of all control planes. A thread is taken until its lookup is done.

    Of each control plane at most one lookup waits for one of `threads`, so they take turns. `second` is for a control
    plane that has one of `threads`: it never waits for another one.
    """

    def __init__(self, look_up: LookUp = _look_up, most: int = _MOST, most_second: int = _MOST_SECOND) -> None:
        self._look_up = look_up
        self.threads, self.second = asyncio.Semaphore(most), asyncio.Semaphore(most_second)

    async def outcome(self, host: str) -> Outcome:
        """Looks a name up. To be called with one of `threads`, or with `second`."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Outcome] = loop.create_future()

        def look_up() -> None:
            found: Outcome
            try:
                found = self._look_up(host)
            except (OSError, ValueError) as error:
                found = error
            with suppress(RuntimeError):  # the loop is closed: the server has ended
                loop.call_soon_threadsafe(_settle, done, found)

        try:  # a daemon: the server's end does not wait for name servers
            Thread(target=look_up, name="lookup", daemon=True).start()
        except RuntimeError:
            return socket.gaierror(socket.EAI_AGAIN, "no thread can be started")
        return await done


class _Lookup:
    """A lookup that waits for a thread, or has `begun` in one. `awaited` is the number of calls that wait for its
    result.
    """

    __slots__ = ("awaited", "begun", "task")

    def __init__(self) -> None:
        self.awaited, self.begun = 0, False
        self.task: asyncio.Task[Outcome] | None = None


class ClusterLookups:
    """The lookups of one control plane: a `Resolver`. Calls for the same name at the same time share one."""

    def __init__(self, shared: Lookups) -> None:
        self._shared, self._first, self._second = shared, asyncio.Lock(), asyncio.Lock()
        self._of_host: dict[str, _Lookup] = {}

    async def __call__(self, host: str, port: int | None) -> Sequence[AddressInfo]:
        """The addresses of a host. An address is not looked up. Raises OSError, ValueError."""
        with suppress(socket.gaierror):
            return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
        found = await self._outcome(host)
        if isinstance(found, Exception):
            raise found
        return [(*each, (at[0], port or 0, *at[2:])) for *each, at in found]  # type: ignore[misc]

    async def _outcome(self, host: str) -> Outcome:
        lookup = self._of_host.get(host)
        if lookup is None:
            lookup = self._of_host[host] = _Lookup()
        if lookup.task is None:
            lookup.task = asyncio.create_task(self._carry_out(host, lookup), name="looking up a name")
        lookup.awaited += 1
        try:
            return await asyncio.shield(lookup.task)
        finally:
            lookup.awaited -= 1
            if not lookup.awaited and not lookup.begun:
                lookup.task.cancel()
                self._forget(host, lookup)  # at once: a later call must not wait for the cancelled lookup

    async def _carry_out(self, host: str, lookup: _Lookup) -> Outcome:
        try:
            async with self._thread():
                lookup.begun = True
                return await self._shared.outcome(host)
        finally:
            self._forget(host, lookup)

    @asynccontextmanager
    async def _thread(self) -> AsyncIterator[None]:
        """The control plane's thread, or a second one if that is taken and one is free."""
        second = self._shared.second
        if self._first.locked() and not (self._second.locked() or second.locked()):
            async with self._second, second:
                yield
        else:
            async with self._first, self._shared.threads:
                yield

    def _forget(self, host: str, lookup: _Lookup) -> None:
        if self._of_host.get(host) is lookup:
            del self._of_host[host]


def _settle(done: asyncio.Future[Outcome], found: Outcome) -> None:
    if not done.done():
        done.set_result(found)
