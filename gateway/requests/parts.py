"""The parts of a server process, as stages, operational paths and tests use them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from time import monotonic

from gateway.aggregation.aggregation import Aggregation
from gateway.controllers.controllers import Controllers
from gateway.customresources.definitions import Definitions
from gateway.discovery.discovery import Discovery
from gateway.endpoints.services import Services
from gateway.endpoints.table import EndpointTable
from gateway.kinds.registry import Registry
from gateway.requests.interposed_stages import Interposed
from gateway.settings.config import Settings
from storage.etcd import EtcdClient
from storage.feed import Feed
from storage.store import EtcdStore


@dataclass(frozen=True, slots=True)
class Gateway:
    """One server process: the resources that it serves (`endpoints`, `registry`) and its parts (`services`).

    Three events tell how far the start is. `readable`: the objects that decide about requests, such as roles, are
    loaded. `served`: everything is loaded and all requests are answered. `furnished`: the objects that every cluster
    has exist. `interposed` has the stages that tests and the start insert.
    """

    registry: Registry
    services: Services
    endpoints: EndpointTable
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
        """The settings from the command line."""
        return self.services.settings

    @property
    def client(self) -> EtcdClient:
        """The connection to etcd."""
        return self.services.client

    @property
    def feed(self) -> Feed:
        """The feed that keeps the watch cache up to date."""
        return self.services.feed

    @property
    def store(self) -> EtcdStore:
        """The store, which reads and writes objects."""
        return self.services.store

    @property
    def stopping(self) -> asyncio.Event:
        """Set when the process begins to shut down."""
        return self.services.stopping

    def drain(self, seconds: float) -> None:
        """Announces that the process stops in some seconds: it is no longer ready, and watches end one by one."""
        self.services.ends_at = monotonic() + seconds
        self.services.draining.set()
        self._wake_all()

    def stop(self) -> None:
        """Begins the shutdown: all watches end."""
        self.services.draining.set()
        self.stopping.set()
        self._wake_all()

    def _wake_all(self) -> None:
        """Wakes all watches, so that they check for draining and shutdown."""
        for database in self.services.databases:
            for cache in database.cache:
                cache.wake_all()
