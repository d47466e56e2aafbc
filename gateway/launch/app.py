"""The ASGI application of a server process: its lifespan (start and end), and the handler of requests."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from gateway.access.file_reload import Followed
from gateway.aggregation.duty import Duty
from gateway.controllers.bootstrap import bootstrap, bootstrap_namespaces, keep_bootstrapped
from gateway.endpoints.table import EndpointTable
from gateway.flowcontrol.limiter import FlowControl
from gateway.http.send import Send
from gateway.launch.background import LEAVE, Background, come_before
from gateway.launch.errors import CannotServe
from gateway.launch.etcd_check import check_etcd, filled, loaded
from gateway.launch.etcd_placement import first_needed
from gateway.launch.patient import said
from gateway.launch.roles import Roles
from gateway.memory import keep_trimmed
from gateway.observability.metrics import follow
from gateway.observability.siblings import SiblingProcesses
from gateway.observability.sizes import keep_told
from gateway.operations.application import OperationsApplication
from gateway.requests.context import Receive, Scope
from gateway.requests.parts import Gateway
from gateway.requests.stages import STARTING
from gateway.settings.config import Settings
from gateway.writing.hooks import service_allocation
from storage.backups.marker import RestoreUnfinished
from storage.database import Database
from storage.errors import NoSpace, StorageError

if TYPE_CHECKING:
    from gateway.launch.control_planes import ControlPlanes

logger = logging.getLogger(__name__)

Answering = Callable[[Scope, Receive, Send], Awaitable[None]]
"""An ASGI application for HTTP requests only, without the lifespan protocol."""


class App:
    """The ASGI application of a server process: HTTP requests, and the lifespan."""

    def __init__(
        self,
        gateway: Gateway,
        handler: Answering,
        operational: OperationsApplication,
        siblings: SiblingProcesses,
        planes: ControlPlanes | None = None,
    ) -> None:
        """`handler` answers HTTP requests; `siblings` finds the other processes of this server (--workers)."""
        self._planes = planes
        self.answer = handler
        self.gateway, self.settings = gateway, gateway.settings
        self._operational, self._siblings = operational, siblings
        self.failure: CannotServe | None = None  # why the start failed, or the process ended itself

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self.answer(scope, receive, send)
            return
        await receive()  # lifespan.startup
        phase = "startup"
        try:
            async with self._lifespan():
                await send({"type": "lifespan.startup.complete"})
                phase = "shutdown"
                await receive()  # lifespan.shutdown
        except BaseException as error:
            # `failure` has a message for the log already, so no traceback is needed
            said = {} if self.failure is not None else {"message": "".join(traceback.format_exception(error))}
            await send({"type": f"lifespan.{phase}.failed", **said})
            if not isinstance(error, CannotServe):
                raise
        else:
            await send({"type": "lifespan.shutdown.complete"})

    def started(self) -> None:
        """Ends the start: all requests are answered from now on, and tasks that wait for `served` begin."""
        self.gateway.interposed.put(STARTING, [])
        self.gateway.served.set()

    def drain(self, seconds: float) -> None:
        """Announces that the process stops in `seconds`; requests are answered until then."""
        self.gateway.drain(seconds)

    def turn_away(self) -> None:
        """Answers new requests with 429 from now on (--shutdown-send-retry-after)."""
        self.gateway.services.turning_away = True

    def stop(self) -> None:
        """Begins the shutdown: ends all watches and all waiting for etcd."""
        self.gateway.stop()
        if self._planes is not None:
            self._planes.stop()

    @asynccontextmanager
    async def _lifespan(self) -> AsyncIterator[None]:
        """Connects to etcd, loads the watch cache, and creates the bootstrap objects. At the end it stops all tasks and
        closes all connections.
        """
        gateway = self.gateway
        encryption = gateway.services.encryption
        if encryption is not None:
            await encryption.start()
        served, background = gateway.served, Background(gateway.stopping, self._failed)
        gateway.services.policy.complete.clear()
        if gateway.feed.shared is not None:
            background.keep_up("shared-cache", gateway.feed.shared.run)
        needed = _begin_feeds(gateway, background)
        try:
            await _start(gateway, background, needed)
            background.run("aggregation", _aggregate(gateway, served, self._siblings))
            background.keep_up("siblings", self._siblings.run)
            follow(gateway)
            self._operational.begin()
            if self._planes is not None:
                self._planes.begin(background)
            yield
        except RestoreUnfinished as error:
            self.failure = CannotServe(str(error), passing=False)
            raise self.failure from error
        except StorageError as error:
            remedy = f": {error.REMEDY}" if isinstance(error, NoSpace) else ""
            self.failure = self.failure or CannotServe(f"etcd failed during the start: {error}{remedy}")
            raise self.failure from error
        except CannotServe as error:
            self.failure = self.failure or error
            raise
        finally:
            self.stop()
            await background.end(leave=served.is_set())
            if self._planes is not None:
                await self._planes.close()
            if gateway.services.audit is not None:
                await gateway.services.audit.close()
            await gateway.services.renderings.apart.close()
            for database in gateway.services.databases:
                await database.client.close()
            await _told(gateway)
            if encryption is not None:
                await encryption.close()

    def _failed(self, name: str, error: BaseException) -> None:
        """Ends the process after a background task has failed, since requests would get wrong answers without it."""
        logger.error("%s failed", name, exc_info=error)
        self.failure = CannotServe(f"{name} failed: {type(error).__name__}: {error}")
        self.stop()
        os.kill(os.getpid(), signal.SIGTERM)


async def _aggregate(gateway: Gateway, started: asyncio.Event, siblings: SiblingProcesses) -> None:
    """Runs the aggregation layer once requests are answered. Only one of the `siblings` checks the availability of
    APIServices.
    """
    await started.wait()

    await gateway.aggregation.run(Duty(siblings.directory))


async def _start(gateway: Gateway, background: Background, needed: Sequence[Database]) -> None:
    """Waits until the etcds in `needed` are loaded, creates the bootstrap objects, and begins the background tasks. At
    the end, waits until the stored CustomResourceDefinitions are served.
    """
    for database in needed:
        await loaded(gateway.settings, database, gateway.stopping)
    async with said("the version of etcd"):
        for database in needed:
            await check_etcd(gateway.settings, database)
    if gateway.services.database.cache.unfilled:
        await _fill(gateway, background)
    async with said("the default objects of a cluster to be created in etcd"):
        await _furnish(gateway.endpoints, bootstrap)
    _begin_upkeep(gateway, background)
    _begin_when_served(gateway, background, gateway.served)
    if not gateway.readable.is_set():
        _begin_to_decide(gateway, background, gateway.served)
    async with said("CustomResourceDefinitions to be served"):
        await gateway.definitions.ready.wait()


async def _furnish(endpoints: EndpointTable, make: Callable[[EndpointTable], Awaitable[None]]) -> None:
    """Calls `make`, which creates bootstrap objects. If etcd is full (NOSPACE), the start goes on without them.

    Reads and deletions are then served, /readyz reports the problem, and the missing objects are created later
    (keep_bootstrapped, Roles).
    """
    try:
        await make(endpoints)
    except NoSpace as error:
        logger.warning(
            "the default objects of a cluster could not be created, trying again: %s: %s", error, NoSpace.REMEDY
        )


async def _fill(gateway: Gateway, background: Background) -> None:
    """Lets requests read the caches that are loaded, and loads the caches that were set aside."""
    await _furnish(gateway.endpoints, bootstrap_namespaces)
    gateway.readable.set()
    _begin_to_decide(gateway, background, gateway.readable)
    await filled(gateway.services.database, gateway.stopping)


def _begin_to_decide(gateway: Gateway, background: Background, started: asyncio.Event) -> None:
    """Begins the tasks on which answers depend: serving CustomResourceDefinitions, and creating the default roles."""
    roles = Roles(gateway)
    background.keep_up("definitions", gateway.definitions.run)
    background.keep_up("bootstrap-roles", partial(roles.run, started))


def _begin_upkeep(gateway: Gateway, background: Background) -> None:
    """Begins the background tasks that do not wait for the end of the start. Several replicas may run them at once."""
    from gateway.allocation.repair import repair_until
    from gateway.controllers.legacy_tokens import label_used_tokens
    from gateway.controllers.replicas import Replica

    settings = gateway.settings
    limiter, stopping = gateway.services.limiter, gateway.stopping
    background.keep_up("replica", partial(Replica(gateway.endpoints).run, gateway.services.draining), takes_back=True)
    runs: dict[str, Callable[[], Coroutine[Any, Any, None]]] = {
        "service-ip-repair": lambda: repair_until(service_allocation(gateway.endpoints), stopping),
        "bootstrap": partial(keep_bootstrapped, gateway.endpoints, stopping, gateway.furnished),
        "files": partial(gateway.services.following.run, stopping),
        "legacy-tokens": partial(label_used_tokens, gateway.endpoints),
        "memory": keep_trimmed,
        "sizes": partial(
            keep_told, [each.client for each in gateway.services.databases], settings.etcd_db_metric_poll_interval
        ),
    }
    if isinstance(limiter, FlowControl):
        runs["flow-control"] = limiter.run
    if settings.identity_key_file:
        from gateway.launch.shared_identity import IdentityStore

        runs["shared-identity"] = IdentityStore(gateway).run
    for name, run in runs.items():
        background.keep_up(name, run)
    for database in gateway.services.databases:
        _keep(settings, database, background)


def _keep(settings: Settings, database: Database, background: Background) -> None:
    """Begins the tasks for one etcd: compaction, and the consistency check (compares its content with the cache)."""
    from storage.compaction import Compactor

    compactor = Compactor(
        database.client,
        settings.etcd_prefix.encode(),
        interval=settings.etcd_compaction_interval,
        retention=settings.etcd_compaction_retention,
        told=database.cache.forget,
    )
    background.keep_up("compaction", compactor.run)
    background.keep_up("consistency-check", partial(database.checker.run, settings.consistency_check_interval))


def _needed(gateway: Gateway) -> list[Database]:
    """The etcds that a start waits for."""
    if not gateway.services.apart:
        return [gateway.services.database]

    return first_needed(gateway.services)


def _begin_feeds(gateway: Gateway, background: Background) -> list[Database]:
    """Begins to load and follow every etcd. Returns the etcds that a start waits for."""
    needed = _needed(gateway)
    for number, database in enumerate(gateway.services.databases):
        background.run(f"feed of etcd-{number}" if number else "feed", database.feed.run())
        if database not in needed:
            background.run(f"etcd-{number}", _reached(gateway, database))
    return needed


async def _reached(gateway: Gateway, database: Database) -> None:
    """Waits for an etcd without which the server can start, and checks it. Other resources are served meanwhile."""
    await loaded(gateway.settings, database, gateway.stopping)
    await check_etcd(gateway.settings, database)


def _begin_when_served(gateway: Gateway, background: Background, started: asyncio.Event) -> None:
    """Begins the tasks that first wait for `started`, which is set once requests are answered."""
    background.keep_up("controllers", partial(_control, gateway, started), takes_back=True)
    background.keep_up("identity", partial(_identify, gateway, started), takes_back=True)
    background.keep_up("flow-schemas", partial(_judge_flow_schemas, gateway, started))
    background.keep_up("watchdog", partial(_watch_the_loop, started))
    background.keep_up("certificate", partial(_look_at_certificate, gateway.settings, started))


async def _watch_the_loop(started: asyncio.Event) -> None:
    """Logs what blocks the event loop, once requests are answered."""
    await started.wait()
    from gateway.observability.watchdog import keep_watch

    await keep_watch(started)


async def _judge_flow_schemas(gateway: Gateway, started: asyncio.Event) -> None:
    """Sets the condition Dangling of FlowSchemas whose priority level is missing, once requests are answered."""
    from gateway.controllers.flow_schema_status import FlowSchemaStatus

    await started.wait()
    await gateway.services.policy.complete.wait()
    await FlowSchemaStatus(gateway.endpoints).run()


async def _look_at_certificate(settings: Settings, started: asyncio.Event) -> None:
    """Logs a warning if the certificate of --tls-cert-file has expired, expires soon, or is not valid yet."""
    await started.wait()
    if settings.tls_cert_file is not None:
        from gateway.credentials.validity import validity

        flag = "--tls-cert-file"
        found = await asyncio.to_thread(validity, flag, settings.tls_cert_file)
        if found.remedy:
            logger.warning("%s: %s; %s", f"{flag} {settings.tls_cert_file}", found.said, found.remedy)


async def _control(gateway: Gateway, started: asyncio.Event) -> None:
    """Runs the elected controllers once requests are answered."""
    if not await come_before(gateway.stopping, started, gateway.services.policy.complete):
        return
    controllers, services = gateway.controllers, gateway.services
    if (given := services.settings.tls_cert_file) is not None:  # else the CA is made once
        services.following.add(Followed("the CA that is published", (given,), controllers.authorities_changed))
    await controllers.run()


async def _identify(gateway: Gateway, started: asyncio.Event) -> None:
    """Renews this server's identity lease once requests are answered."""
    if not await come_before(gateway.stopping, started, gateway.services.policy.complete):
        return
    from gateway.controllers.identity import IdentityLease

    await IdentityLease(gateway.endpoints).run(gateway.stopping)


async def _told(gateway: Gateway) -> None:
    """Sends the remaining trace spans to the collector; gives up after `LEAVE` seconds."""
    if gateway.services.tracer is not None:
        with suppress(TimeoutError):
            async with asyncio.timeout(LEAVE):
                await asyncio.to_thread(gateway.services.tracer.close)
