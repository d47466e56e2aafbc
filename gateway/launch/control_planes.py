"""Control planes below /clusters (--control-planes) as a part of a server process: made, begun and ended with it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from urllib.parse import urlsplit

from gateway.access.authentication import Authenticator
from gateway.access.file_reload import Followed
from gateway.clusters import metrics
from gateway.clusters.awake import Answering, PartMakers
from gateway.clusters.dispatch import with_clusters
from gateway.clusters.for_tests import ForTests
from gateway.clusters.operations import OwnOperations
from gateway.clusters.reconciler import Reconciler, install
from gateway.clusters.table import Table
from gateway.controllers.bootstrap import BOOTSTRAP_HOOKS
from gateway.kinds.registry import Registry
from gateway.launch.background import Background, come_before
from gateway.launch.checks import checks_of
from gateway.launch.ports import ANY_ADDRESS, loopback
from gateway.observability.probes import Probes
from gateway.operations.application import OperationsApplication
from gateway.outbound.client import Client
from gateway.requests.parts import Gateway
from gateway.settings.config import Settings
from storage.database import Database
from storage.store import EtcdStore

Make = Callable[[Settings, Database, Client, Callable[[Gateway], OwnOperations]], tuple[Gateway, Answering]]
"""Makes a gateway on a database and a client, and the handler of its requests, with these operational paths."""

Knowing = Callable[[Registry, Settings, EtcdStore], Authenticator]
"""Makes an authenticator by settings, which finds objects in a store without its caches."""


def planes_of(
    root: Gateway, handler: Answering, operational: OperationsApplication, make: Make, knowing: Knowing
) -> tuple[ControlPlanes, Answering]:
    """The control planes of a process, and the application that passes requests to them or to `handler`.

    `root` is the gateway of the process; tests make control planes by `operational`. `make` makes other gateways, and
    `knowing` the authenticator of one that rests.
    """

    def gateway(settings: Settings, database: Database, client: Client) -> tuple[Gateway, Answering]:
        return make(settings, database, client, partial(OwnOperations, probes=probes_of))

    means = PartMakers(gateway, partial(knowing, root.registry), lambda stopping: Background(stopping, _failed))
    table = Table(root, means, partial(url_of, root.settings))
    if root.settings.control_planes_metrics:
        metrics.follow(partial(iter, table), root.settings.control_planes_metrics)
    reconciler = Reconciler(root, table)
    root.controllers.beside.append(reconciler.lead)
    if (given := root.settings.tls_cert_file) is not None:  # else the CA is made once
        root.services.following.add(Followed("the CA of control planes", (given,), reconciler.ca_changed))
    operational.clusters = ForTests(root, table)
    return ControlPlanes(root, table), with_clusters(handler, table, root.settings.control_planes_domain)


def probes_of(gateway: Gateway) -> Probes:
    """The health checks of a control plane. Metrics are of the process."""
    return Probes(gateway, BOOTSTRAP_HOOKS, checks_of(gateway), counts=False)


def url_of(settings: Settings, name: str) -> str:
    """The URL of a control plane for clients."""
    address = address_of(settings)
    if not settings.control_planes_domain:
        return f"{address}/clusters/{name}"
    port = urlsplit(address).port
    return f"https://{name}.{settings.control_planes_domain}{f':{port}' if port else ''}"


def address_of(settings: Settings) -> str:
    """The URL of the server for clients of its control planes."""
    if settings.kubeconfig_server:
        return settings.kubeconfig_server.rstrip("/")
    reached = settings.advertise_address if settings.bind_address in ANY_ADDRESS else ""
    host = settings.external_hostname or reached or loopback(settings.bind_address)
    return f"https://[{host}]:{settings.secure_port}" if ":" in host else f"https://{host}:{settings.secure_port}"


def _failed(name: str, error: BaseException) -> None:
    """Does nothing: all work of a control plane is begun anew when it fails, which is logged."""


class ControlPlanes:
    """The work of a process for all control planes."""

    def __init__(self, root: Gateway, table: Table) -> None:
        self._root, self._table = root, table

    def begin(self, background: Background) -> None:
        """Begins to follow the objects that describe control planes, once requests are answered."""
        background.keep_up("control-planes", partial(self._run, self._root.served))

    async def _run(self, started: asyncio.Event) -> None:
        if not await come_before(self._root.stopping, started, self._root.services.policy.complete):
            return
        await install(self._root)
        await self._table.run()

    def stop(self) -> None:
        """Ends all watches: the process stops."""
        self._table.stop()

    async def close(self) -> None:
        """Ends everything."""
        await self._table.close()
