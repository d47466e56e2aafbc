"""The parts of a server process that stages, routes of operation and tests work with."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from time import monotonic

from gateway.aggregation.running import Aggregation
from gateway.controllers.definitions import Definitions
from gateway.controllers.running import Controllers
from gateway.discovery.serving import Discovery
from gateway.endpoints.services import Services
from gateway.endpoints.table import Endpoints
from gateway.kinds.registry import Registry
from gateway.requests.interposed import Interposed
from gateway.settings.config import Settings
from storage.etcd import EtcdClient
from storage.feed import Feed
from storage.store import EtcdStore


@dataclass(frozen=True, slots=True)
class Gateway:
    """One server process: what it serves (`endpoints`, `registry`) with which parts (`services`).

    `served` is set once the start is over and all requests are answered, `readable` before that where what decides
    about requests is loaded before the rest, `furnished` once all is there that every cluster has; `interposed` has the
    stages that tests and a start put in.
    """

    registry: Registry
    services: Services
    endpoints: Endpoints
    discovery: Discovery
    definitions: Definitions
    aggregation: Aggregation
    controllers: Controllers
    interposed: Interposed
    readable: asyncio.Event
    served: asyncio.Event
    furnished: asyncio.Event

    @property
    def settings(self) -> Settings:
        """What the command line said."""
        return self.services.settings

    @property
    def client(self) -> EtcdClient:
        """The connection to etcd."""
        return self.services.client

    @property
    def feed(self) -> Feed:
        """What keeps the watch cache up to date."""
        return self.services.feed

    @property
    def store(self) -> EtcdStore:
        """Reads and writes."""
        return self.services.store

    @property
    def stopping(self) -> asyncio.Event:
        """Set when the process begins to shut down."""
        return self.services.stopping

    def drain(self, seconds: float) -> None:
        """Says that this process stops soon: it is not ready any more, and watches end one after the other."""
        self.services.ends_at = monotonic() + seconds
        self.services.draining.set()
        self._wake_all()

    def stop(self) -> None:
        """Begins the shutdown: watches end, whatever they are waiting for."""
        self.services.draining.set()
        self.stopping.set()
        self._wake_all()

    def _wake_all(self) -> None:
        """Has each watch look at what is so now."""
        for database in self.services.databases:
            for cache in database.cache:
                cache.wake_all()
