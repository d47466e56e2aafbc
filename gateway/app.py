"""The application: a FastAPI app that owns the lifespan and the routes of operation, with the API mounted in front."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from starlette.types import Receive, Scope, Send

from gateway.config import Settings
from gateway.controllers.bootstrap import BOOTSTRAP_HOOKS, bootstrap, bootstrap_descriptions
from gateway.controllers.role_aggregation import aggregate_roles
from gateway.discovery.serving import Discovery
from gateway.handler import Handler
from gateway.openapi.routes import openapi
from gateway.operations import answer_strays, operations
from gateway.server import Gateway, build_gateway
from storage.versions import survives_kill

logger = logging.getLogger(__name__)

PATIENCE = 5.0  # seconds of waiting for etcd between log lines


class StoppedEarly(Exception):
    """The server was told to stop before it had started."""


class App(FastAPI):
    """FastAPI, but for HTTP requests: those go to the API's endpoint first, past all routing by table."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(
            title="apiserver-gateway", openapi_url=None, docs_url=None, redoc_url=None, lifespan=self._lifespan
        )
        self.settings = settings
        self.gateway: Gateway | None = None  # from start-up on
        self._handler: Handler
        self._super_call = super().__call__
        answer_strays(self)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._handler(scope, receive, send)
        else:
            await self._super_call(scope, receive, send)

    def stop(self) -> None:
        """Begins the shutdown: watches end, and so does waiting for etcd."""
        if self.gateway is not None:
            self.gateway.stop()

    @asynccontextmanager
    async def _lifespan(self, _app: FastAPI) -> AsyncIterator[None]:
        """Connects, loads the cache, puts the objects in place that every cluster has, and undoes it at the end."""
        gateway = self.gateway = build_gateway(self.settings)
        tasks = [asyncio.create_task(gateway.feed.run(), name="feed")]
        try:
            await _loaded(gateway)
            await _warn_of_etcd(gateway)
            await bootstrap(gateway.endpoints)
            tasks += _controllers(gateway)
            address = f"{self.settings.advertise_address or '127.0.0.1'}:{self.settings.secure_port}"
            discovery = Discovery(gateway.registry, address)
            gateway.endpoints.on_change(discovery.refresh)
            self.include_router(operations(gateway, discovery.paths, list(BOOTSTRAP_HOOKS)))
            self.include_router(openapi(gateway.registry))
            self._handler = Handler(gateway, discovery, self._super_call)
            yield
        finally:
            gateway.stop()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await gateway.client.close()


def _controllers(gateway: Gateway) -> list[asyncio.Task[None]]:
    """Starts what runs beside the requests; all of it is safe on several replicas at once."""
    from gateway.allocation.repair import repair_until
    from gateway.allocation.services import ServiceAllocation
    from storage.compaction import Compactor

    settings = gateway.settings
    allocation = ServiceAllocation(gateway.store, settings)
    compactor = Compactor(
        gateway.client,
        settings.etcd_prefix.encode(),
        interval=settings.etcd_compaction_interval,
        retention=settings.etcd_compaction_retention,
    )
    return [
        asyncio.create_task(compactor.run(), name="compaction"),
        asyncio.create_task(repair_until(allocation, gateway.stopping), name="service-ip-repair"),
        asyncio.create_task(bootstrap_descriptions(gateway.endpoints), name="bootstrap-descriptions"),
        asyncio.create_task(aggregate_roles(gateway.endpoints), name="role-aggregation"),
    ]


async def _loaded(gateway: Gateway) -> None:
    """Waits for the cache's first load; says so in the log where that takes long. Raises StoppedEarly."""
    loaded = asyncio.ensure_future(gateway.feed.ready.wait())
    stopped = asyncio.ensure_future(gateway.stopping.wait())
    try:
        while not (await asyncio.wait((loaded, stopped), timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED))[0]:
            logger.warning("waiting for etcd", extra={"endpoints": ",".join(gateway.settings.etcd_servers)})
        if not loaded.done():
            raise StoppedEarly
    finally:
        loaded.cancel()
        stopped.cancel()


async def _warn_of_etcd(gateway: Gateway) -> None:
    """Says so when this etcd may lose what it has acknowledged. Not of a temporary one, whose data nobody keeps."""
    settings = gateway.settings
    if settings.embedded_etcd and settings.data_dir is None:
        return
    version = (await gateway.client.status()).version
    if not survives_kill(version):
        logger.warning(
            "this etcd may lose acknowledged writes when it is killed, if it has no other members: "
            "use 3.5.5 or later (or 3.4.21); an embedded one is taken from PATH",
            extra={"version": version},
        )


def create_app(settings: Settings) -> App:
    """The ASGI application of one server process."""
    return App(settings)
