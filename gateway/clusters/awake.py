"""A control plane that is awake: its own gateway on its part of etcd, its stages of requests, and its tasks."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Coroutine
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import Any, Protocol

from gateway.access.authentication import Authenticator
from gateway.aggregation.duty import Duty
from gateway.clusters.definition import ClusterLimits
from gateway.clusters.letting_go import let_go
from gateway.clusters.turns import RequestTurns
from gateway.flowcontrol.limiter import InFlight
from gateway.http.send import Send
from gateway.outbound.client import Client
from gateway.pieces import is_ending, raise_own
from gateway.quotas.room import Room
from gateway.requests.context import Receive, Scope
from gateway.requests.parts import Gateway
from gateway.schema.catalog import catalog_of, served, serving
from gateway.settings.config import Settings
from storage.common import Common, PartCache
from storage.database import Database
from storage.fence import Fence
from storage.seeded.seeds import Seeds
from storage.store import EtcdStore

logger = logging.getLogger(__name__)

_CHECKED_AT_ONCE = 4  # APIServices
_MOMENT = 1.0  # seconds
_SOON = 0.05  # seconds after a load until its controllers look at all objects: the request that woke it goes first
_LOOKED, _SETTLED = 0.2, 2.0  # seconds after a load: by then its controllers have looked at all objects

Answering = Callable[[Scope, Receive, Send], Awaitable[None]]
"""An ASGI application for HTTP requests only, without the lifespan protocol."""


class Tasks(Protocol):
    """The background tasks of one control plane."""

    def keep_up(self, name: str, run: Callable[[], Coroutine[Any, Any, None]]) -> asyncio.Task[None]:
        """Starts a task, and starts it again when it fails."""
        ...

    async def end(self, *, leave: bool) -> None:
        """Ends all tasks."""
        ...


@dataclass(frozen=True, slots=True)
class PartMakers:
    """How a process makes the parts of a control plane."""

    gateway: Callable[[Settings, Database, Client], tuple[Gateway, Answering]]
    authenticator: Callable[[Settings, EtcdStore], Authenticator]  # that of one that rests: it has no caches
    tasks: Callable[[asyncio.Event], Tasks]


class Awake:
    """A control plane in memory. `begin` loads it, `end` frees it."""

    def __init__(
        self, settings: Settings, database: Database, common: Common, means: PartMakers, client: Client
    ) -> None:
        """`database` is the control plane's part of `common`. Raises ValueError for an invalid key of tokens."""
        self._common, self._client = common, client
        self.database = database
        self.gateway, self._handler = means.gateway(settings, database, client)
        self.gateway.controllers.most_workers = 1  # each is a task that waits
        minor = self._minor = self.gateway.registry.release.binary
        self.serving: Callable[[], AbstractContextManager[None]] = nullcontext
        """The block, and tasks that it begins, have the schemas of the control plane's version of Kubernetes."""
        if catalog_of(minor) is not served():
            self.serving = partial(serving, minor)
        self._tasks = means.tasks(self.gateway.stopping)
        self._aggregating: asyncio.Task[None] | None = None
        self._fence: Fence | None = None  # while its controllers are to run
        self._leading: asyncio.Task[None] | None = None
        self._looked_anew = 0  # as in the contents that it begins with, when its controllers began
        self._resting: asyncio.Task[None] | None = None  # ends controllers that have nothing to do
        self._answering: set[asyncio.Task[None]] = set()
        self._settling: list[asyncio.TimerHandle] = []
        self.ended = False
        self._used, self._turns = monotonic(), RequestTurns()
        if isinstance(cache := database.cache, PartCache):
            cache.minor, self.gateway.services.room = minor, Room(cache.usage)
            cache.on_first_write = self._begin_controllers

    async def begin(self) -> None:
        """Loads the objects, and serves the custom resources. To be called in a block of `serving`. Raises
        StorageError.
        """
        gateway = self.gateway
        await self._common.attach(self.database.cache)
        gateway.readable.set()
        gateway.furnished.set()
        self._tasks.keep_up("definitions", gateway.definitions.run)
        gateway.aggregation.services.on_change(self._aggregate)
        await gateway.definitions.ready.wait()
        gateway.served.set()
        self._used = monotonic()
        self._settle_later()

    def _aggregate(self, _names: Collection[str]) -> None:
        """Starts the checks of extension API servers once an APIService names one."""
        aggregation = self.gateway.aggregation
        if self._aggregating is None and aggregation.services.remote:
            run = partial(aggregation.run, Duty(None), most_workers=_CHECKED_AT_ONCE, registers=False)
            with self.serving():
                self._aggregating = self._tasks.keep_up("aggregation", run)

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request; the path in the scope is that within the control plane. Raises Refused."""
        task, turn = asyncio.current_task(), self._turns.take()
        assert task is not None
        self._answering.add(task)
        try:
            if turn is not None:
                await turn
            with self.serving():
                await self._handler(scope, receive, send)
        finally:
            self._answering.discard(task)
            self._used = monotonic()

    def limit(self, limits: ClusterLimits) -> None:
        """Sets the limits of the control plane: its objects, bytes, requests and watches."""
        services = self.gateway.services
        self._turns.most, services.watches.altogether = limits.requests, limits.watches
        if isinstance(services.limiter, InFlight):
            services.limiter.altogether = limits.requests
        if services.room is not None:
            services.room.limit(limits.objects, limits.bytes)

    def forget(self) -> None:
        """Frees the cached forms of objects, such as the parsed one, and the texts of seeds."""
        if not self.ended and isinstance(cache := self.database.cache, PartCache):
            cache.forget_memos()

    def rests_since(self) -> float | None:
        """The time of its last use, by the monotonic clock; None while it works or a request waits for it."""
        gateway = self.gateway
        works = self._answering or gateway.services.watches.any or not gateway.definitions.at_rest
        works = works or gateway.interposed.in_use  # its snapshots, users and faults are only in memory
        works = works or not all(queue.idle for queue in gateway.controllers.queues())
        return None if works else self._used

    @property
    def is_done(self) -> bool:
        """Whether its controllers run in this process, or need not run, and have nothing left to do."""
        gateway = self.gateway
        looked = self._fence is not None and (self._needs_no_controllers() or gateway.controllers.have_looked)
        return looked and gateway.definitions.at_rest

    def lead(self, fence: Fence) -> None:
        """Runs its controllers while the process holds the root's lease, and if they may have something to do."""
        self._fence = fence
        self._begin_controllers(_SOON)

    def _begin_controllers(self, after: float = 0.0) -> None:
        if self._fence is None or self._needs_no_controllers() or not (self._leading is None or self._leading.done()):
            return
        self._settle_later()
        seeds = self._seeds_alone()
        self._looked_anew = 0 if seeds is None else seeds.contents.looked_anew
        with self.serving():
            leading = asyncio.create_task(self._lead(self._fence, after), name="controllers of a control plane")
        self._leading = leading

    def _needs_no_controllers(self) -> bool:
        cache = self.database.cache
        return isinstance(cache, PartCache) and cache.needs_nobody

    def _seeds_alone(self) -> Seeds | None:
        """The seeds of the control plane, if it has no writes; else None."""
        cache = self.database.cache
        return cache.seeds if isinstance(cache, PartCache) and cache.is_as_begun else None

    def _settle_later(self) -> None:
        """Frees memory once its controllers have read all objects, because they cache derived forms of each object."""
        call_later = asyncio.get_running_loop().call_later
        for timer in self._settling:
            timer.cancel()
        self._settling = [call_later(_LOOKED, self.settle), call_later(_SETTLED, self.settle)]

    def settle(self) -> None:
        """Frees the memory of the load. Ends the controllers if they had nothing to do before the first write."""
        self.forget()
        seeds = self._seeds_alone()
        if seeds is None or self._resting is not None or not self.gateway.controllers.have_looked:
            return
        if seeds.contents.looked_anew != self._looked_anew:
            return  # a file that they read has changed: they look again
        seeds.contents.settle(self._minor)  # so all control planes that begin with the same need no controllers either
        self._resting = asyncio.create_task(self._rest_controllers(), name="controllers with nothing to do")

    async def _rest_controllers(self) -> None:
        leading = self._leading
        if leading is not None:
            leading.cancel()
            await asyncio.gather(leading, return_exceptions=True)
        self._resting = None
        self._begin_controllers()  # if somebody has written meanwhile

    async def _lead(self, fence: Fence, after: float = 0.0) -> None:
        await asyncio.sleep(after)
        while not (self.gateway.stopping.is_set() or is_ending()):
            try:
                await self.gateway.controllers.lead(fence)
            except (Exception, asyncio.CancelledError) as error:
                raise_own(error)
                logger.exception("the controllers of a control plane failed, starting them again")
            with suppress(TimeoutError):
                await asyncio.wait_for(self.gateway.stopping.wait(), 1.0)

    async def follow(self) -> None:
        """Stops its controllers, because the process has lost the root's lease."""
        self._fence = None
        leading, self._leading = self._leading, None
        if leading is not None:
            leading.cancel()
            await asyncio.gather(leading, return_exceptions=True)

    def stop(self) -> None:
        """Ends its watches, and begins no more work."""
        self.gateway.stop()

    async def end(self) -> None:
        """Ends requests, watches and tasks, and drops the caches."""
        if isinstance(cache := self.database.cache, PartCache):
            cache.nobody_looks = True
        self.stop()
        for timer in self._settling:
            timer.cancel()
        try:
            await self.follow()  # at once: requests may take a moment
            await self._cut_off()
            await self._tasks.end(leave=False)
            await self.gateway.endpoints.replace(self._defined(), [])
            self.gateway.endpoints.end_replaced()
        finally:
            for end in self.gateway.interposed.at_end:
                end()
            self._common.detach(self.database.cache)
            self._client.close()
            self.ended = True
            self._let_go_later()

    async def _cut_off(self) -> None:
        """Resets the connections of requests that do not end in a moment, such as tunnels and proxied streams."""
        answering = self._answering - {asyncio.current_task()}
        if answering:
            _, late = await asyncio.wait(answering, timeout=_MOMENT)
            for task in late:
                task.cancel("the control plane has ended")

    def _let_go_later(self) -> None:
        """Takes the control plane apart when no request is in progress, after a short time for tasks that requests
        started.
        """
        asyncio.get_running_loop().call_later(_MOMENT, self._let_go)

    def _let_go(self) -> None:
        if self._answering or self.gateway.services.watches.any:
            return self._let_go_later()
        let_go(self.gateway, self._handler)

    def _defined(self) -> list[Any]:
        return [each for each in self.gateway.registry.resources.values() if each.defined]
