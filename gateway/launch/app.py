"""The application: the lifespan of a server, and the way of its requests to the API or to the routes of operation."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import time
import traceback
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Iterable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gateway.controllers.bootstrap import BOOTSTRAP_HOOKS, bootstrap, bootstrap_roles, keep_bootstrapped
from gateway.controllers.definitions import Definitions
from gateway.discovery.serving import Discovery
from gateway.http.sending import Send
from gateway.jsontypes import JsonObject
from gateway.launch.extensions import aggregate, aggregation_of, checks_of
from gateway.launch.patient import PATIENCE, said
from gateway.launch.upkeep import kept_up
from gateway.memory import keep_trimmed
from gateway.observability.metrics import follow
from gateway.observability.siblings import Siblings
from gateway.observability.watchdog import keep_watch
from gateway.operations.application import Operational
from gateway.requests.context import Receive, Scope
from gateway.requests.handler import Handler
from gateway.requests.parts import Gateway, build_gateway
from gateway.settings.config import Settings
from storage.backups.marker import RestoreUnfinished, check_restored
from storage.errors import NoSpace, StorageError
from storage.etcd.waiting import hopeless, tls_trouble
from storage.versions import OLDEST, parse_version, survives_kill

if TYPE_CHECKING:
    from gateway.customresources.conversion import Webhook

logger = logging.getLogger(__name__)

LEAVING = ("replica", "controllers", "identity")  # tasks that have something to take back when the server stops
LATER = LEAVING[1:]  # those that begin once the default roles are made
LEAVE = 2.0  # seconds that they have for it
LOOK = 0.1  # seconds between looks at what it waits for
LOOKS = 50  # between those that open connections to etcd


class CannotServe(Exception):
    """The server cannot start, or cannot go on; the message says why. `passing` if another attempt may go better."""

    def __init__(self, message: str, passing: bool = True) -> None:
        super().__init__(message)
        self.passing = passing


class App:
    """The ASGI application of a server process: HTTP requests, and the lifespan."""

    def __init__(self, settings: Settings, siblings: Path | None = None) -> None:
        """`siblings` is a directory in which the processes meet that serve together, where there are several."""
        self.settings, self._siblings = settings, Siblings(siblings)
        self.gateway: Gateway | None = None  # from start-up on
        self.failure: CannotServe | None = None  # why it never served, or ended by itself
        self._started = asyncio.Event()
        self._handler: Handler

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._handler(scope, receive, send)
            return
        await receive()  # lifespan.startup
        phase = "startup"
        try:
            async with self._lifespan():
                await send({"type": "lifespan.startup.complete"})
                phase = "shutdown"
                await receive()  # lifespan.shutdown
        except BaseException as error:
            # a failure that has its words needs no traceback
            said = {} if self.failure is not None else {"message": "".join(traceback.format_exception(error))}
            await send({"type": f"lifespan.{phase}.failed", **said})
            if not isinstance(error, CannotServe):
                raise
        else:
            await send({"type": "lifespan.shutdown.complete"})

    def started(self) -> None:
        """Requests are answered: what they need not wait for may begin."""
        self._started.set()

    def drain(self, seconds: float) -> None:
        """Says that the process stops in so many seconds, and goes on answering."""
        if self.gateway is not None:
            self.gateway.drain(seconds)

    def turn_away(self) -> None:
        """Has new requests be answered with 429 from now on, where the settings want that."""
        if self.gateway is not None:
            self.gateway.services.turning_away = True

    def stop(self) -> None:
        """Begins the shutdown: watches end, and so does waiting for etcd."""
        if self.gateway is not None:
            self.gateway.stop()

    @asynccontextmanager
    async def _lifespan(self) -> AsyncIterator[None]:
        """Connects, loads the cache, puts the objects in place that every cluster has, and undoes it at the end."""
        gateway = self.gateway = build_gateway(self.settings)
        encryption = gateway.services.encryption
        if encryption is not None:
            await encryption.start()
        tasks = [asyncio.create_task(gateway.feed.run(), name="feed")]
        try:
            tasks[0].add_done_callback(self._ended)
            await _loaded(gateway)
            _warn_of_plugins(self.settings)
            async with said("what every cluster has to be in etcd"):
                await _check_etcd(gateway)
                await bootstrap(gateway.endpoints)
            gateway.services.policy.complete.clear()
            tasks += _controllers(gateway)
            stopping, started = gateway.stopping, self._started
            tasks += [
                kept_up("bootstrap-roles", partial(_make_roles, gateway, started), stopping),
                kept_up("controllers", partial(_control, gateway, started), stopping),
                kept_up("identity", partial(_identify, gateway, started), stopping),
                kept_up("flow-schemas", partial(_judge_flow_schemas, gateway, started), stopping),
                kept_up("watchdog", partial(keep_watch, started), stopping),
                kept_up("certificate", partial(_look_at_certificate, self.settings, started), stopping),
            ]
            definitions = Definitions(gateway.endpoints, partial(_webhook_of, gateway))
            tasks.append(kept_up("definitions", definitions.run, stopping))
            for task in tasks[1:]:
                task.add_done_callback(self._ended)
            async with said("the definitions of custom resources to be read"):
                await definitions.ready.wait()
            address = f"{self.settings.advertise_address or '127.0.0.1'}:{self.settings.secure_port}"
            discovery = Discovery(gateway.registry, address, gateway.services.media)
            gateway.endpoints.on_change(discovery.refresh)
            aggregation = aggregation_of(gateway, discovery)
            tasks.append(asyncio.create_task(aggregate(aggregation, self._started), name="aggregation"))
            tasks[-1].add_done_callback(self._ended)
            if self.settings.audit_policy_file is not None:
                from gateway.audit.auditing import audit_of

                gateway.services.audit = audit_of(self.settings)
            follow(gateway)
            tasks.append(asyncio.create_task(self._siblings.run(), name="siblings"))
            gateway.checks |= checks_of(definitions, aggregation, {task.get_name(): task for task in tasks})
            self._handler = Handler(
                gateway, discovery, Operational(gateway, self._siblings, discovery.paths, BOOTSTRAP_HOOKS)
            )
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
            gateway.stop()
            if self._started.is_set():
                await _left(tasks, () if gateway.services.policy.complete.is_set() else LATER)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            if gateway.services.audit is not None:
                await gateway.services.audit.close()
            await gateway.client.close()
            if encryption is not None:
                await encryption.close()

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Ends the process when something fails that runs beside the requests: without it they get wrong answers."""
        error = None if task.cancelled() else task.exception()
        if error is None or self.gateway is None or self.gateway.stopping.is_set():
            return
        logger.error("%s failed", task.get_name(), exc_info=error)
        self.failure = CannotServe(f"{task.get_name()} failed: {type(error).__name__}: {error}")
        self.stop()
        os.kill(os.getpid(), signal.SIGTERM)


def _webhook_of(gateway: Gateway, definition: JsonObject) -> Webhook | None:
    """What converts a definition's objects."""
    from gateway.customresources.conversion import webhook_of

    return webhook_of(definition, gateway.services.webhooks)


def _controllers(gateway: Gateway) -> list[asyncio.Task[None]]:
    """Starts what runs beside the requests; all of it is safe on several replicas at once."""
    from gateway.allocation.repair import repair_until
    from gateway.controllers.legacy_tokens import label_used_tokens
    from gateway.controllers.replicas import Replica
    from gateway.flowcontrol.limiting import FlowControl
    from gateway.writing.hooks import service_allocation
    from storage.compaction import Compactor

    settings = gateway.settings
    compactor = Compactor(
        gateway.client,
        settings.etcd_prefix.encode(),
        interval=settings.etcd_compaction_interval,
        retention=settings.etcd_compaction_retention,
    )
    limiter, stopping = gateway.services.limiter, gateway.stopping
    runs: dict[str, Callable[[], Coroutine[Any, Any, None]]] = {
        "replica": partial(Replica(gateway.endpoints).run, gateway.services.draining),
        "compaction": compactor.run,
        "consistency-check": partial(gateway.services.checker.run, settings.consistency_check_interval),
        "service-ip-repair": lambda: repair_until(service_allocation(gateway.endpoints), stopping),
        "bootstrap": partial(keep_bootstrapped, gateway.endpoints, stopping, gateway.furnished),
        "files": partial(gateway.services.following.run, stopping),
        "legacy-tokens": partial(label_used_tokens, gateway.endpoints),
        "memory": keep_trimmed,
    }
    if isinstance(limiter, FlowControl):
        runs["flow-control"] = limiter.run
    return [kept_up(name, run, stopping) for name, run in runs.items()]


async def _make_roles(gateway: Gateway, started: asyncio.Event) -> None:
    """Makes the default roles once administrators are served, for whom no role decides; everybody else waits."""
    await started.wait()
    complete = gateway.services.policy.complete
    while not complete.is_set():
        try:
            await bootstrap_roles(gateway.endpoints)
            await gateway.store.reads.fresh()  # the policy has what was written
            complete.set()
        except StorageError as error:
            logger.warning("default roles are missing yet", extra={"error": str(error)})
            await asyncio.sleep(PATIENCE)


async def _judge_flow_schemas(gateway: Gateway, started: asyncio.Event) -> None:
    """Tells of flow schemas whose level is missing, once requests are answered."""
    from gateway.controllers.flow_schema_status import FlowSchemaStatus

    await started.wait()
    await gateway.services.policy.complete.wait()
    await FlowSchemaStatus(gateway.endpoints).run()


async def _look_at_certificate(settings: Settings, started: asyncio.Event) -> None:
    """Says so where clients refuse the certificate that was given, or soon will: it has expired, or is yet to begin."""
    await started.wait()
    if settings.tls_cert_file is not None:
        from gateway.doctor.certificates import of_file

        for finding in await asyncio.to_thread(of_file, "--tls-cert-file", settings.tls_cert_file):
            if finding.remedy:
                logger.warning("%s: %s; %s", finding.check, finding.said, finding.remedy)


async def _control(gateway: Gateway, started: asyncio.Event) -> None:
    """Runs the elected controllers once requests are answered."""
    await started.wait()
    await gateway.services.policy.complete.wait()
    if gateway.stopping.is_set():
        return
    from gateway.controllers.running import Controllers

    gateway.controllers = Controllers(gateway.endpoints, gateway.stopping)
    await gateway.controllers.run()


async def _identify(gateway: Gateway, started: asyncio.Event) -> None:
    """Keeps this server's lease once requests are answered."""
    await started.wait()
    await gateway.services.policy.complete.wait()
    if gateway.stopping.is_set():
        return
    from gateway.controllers.identity import Identity

    await Identity(gateway.endpoints).run(gateway.stopping)


async def _left(tasks: Iterable[asyncio.Task[None]], not_begun: Collection[str]) -> None:
    """Lets those finish that take back at a stop what others would wait for."""
    names = set(LEAVING).difference(not_begun)
    leaving = [task for task in tasks if task.get_name() in names and not task.done()]
    if leaving:
        await asyncio.wait(leaving, timeout=LEAVE)


async def _loaded(gateway: Gateway) -> None:
    """Waits for the cache's first load; says in the log why that takes long. Raises CannotServe."""
    loaded = asyncio.ensure_future(gateway.feed.ready.wait())
    stopped = asyncio.ensure_future(gateway.stopping.wait())
    began = told = time.monotonic()
    looks = -LOOKS // 10
    try:
        while not (await asyncio.wait((loaded, stopped), timeout=LOOK, return_when=asyncio.FIRST_COMPLETED))[0]:
            error = gateway.feed.error
            if reason := hopeless(error):
                raise CannotServe(reason, passing=False)
            if looks == 0 and (reason := await tls_trouble(gateway.settings.etcd())):
                raise CannotServe(reason, passing=False)
            looks = (looks + 1) % LOOKS
            if time.monotonic() - told >= PATIENCE:
                told = time.monotonic()
                where = {"endpoints": ",".join(gateway.settings.etcd_servers), "seconds": round(told - began)}
                logger.warning("waiting for etcd: %s", error or "no answer yet", extra=where)
        if not loaded.done():
            raise CannotServe("told to stop while waiting for etcd")
    finally:
        loaded.cancel()
        stopped.cancel()


async def _check_etcd(gateway: Gateway) -> None:
    """Raises RestoreUnfinished where half of a backup is, CannotServe where etcd is too old.

    Says so when this etcd may lose what it has acknowledged, but not of a temporary one, whose data nobody keeps.
    """
    settings = gateway.settings
    if settings.embedded_etcd and settings.data_dir is None:
        return
    await check_restored(gateway.client, settings.etcd_prefix)
    version = (await gateway.client.status()).version
    if parse_version(version) < OLDEST:
        oldest = ".".join(map(str, OLDEST[:2]))
        raise CannotServe(f"etcd {version or 'of no version'} is too old: {oldest} or later is wanted", passing=False)
    if not survives_kill(version):
        logger.warning(
            "this etcd may lose acknowledged writes when it is killed, if it has no other members: "
            "use 3.5.5 or later (or 3.4.21); `apiserver-gateway etcd install` gets one, and one on PATH is taken first",
            extra={"version": version},
        )


def _warn_of_plugins(settings: Settings) -> None:
    """Says which admission plug-ins were asked for that are not here yet."""
    if settings.enable_admission_plugins:
        from gateway.admission.plugins import PLUGINS

        missing = settings.enable_admission_plugins - {plugin.name for plugin in PLUGINS}
        if missing:
            logger.warning("admission plug-ins that are not served yet: %s", ", ".join(sorted(missing)))


def create_app(settings: Settings) -> App:
    """The ASGI application of one server process."""
    return App(settings)
