"""One server with control planes for all tests, and two control planes that only requests are sent to."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from apiserver_gateway.testing import ApiServer, Cluster
from apiserver_gateway.testing.clusters import PATH
from storage.etcd import EtcdClient, EtcdSettings
from tests.conftest import PATIENCE
from tests.forked import api_server
from tests.integration.server.client import ask as raw
from tests.until import until

ADMIN = "alice"
GROUP = "platform"


@pytest.fixture(scope="package")
def server() -> Iterator[ApiServer]:
    with api_server("--control-planes") as running:
        until(lambda: raw(running, "GET", PATH).status == 200)
        yield running


@pytest.fixture(scope="package")
def one(server: ApiServer) -> Iterator[Cluster]:
    with server.cluster("one") as made:
        yield made


@pytest.fixture(scope="package")
def other(server: ApiServer) -> Iterator[Cluster]:
    with server.cluster("other") as made:
        yield made


@pytest.fixture
async def etcd(server: ApiServer) -> AsyncIterator[EtcdClient]:
    """A client of the server's etcd."""
    async with EtcdClient(EtcdSettings(endpoints=(server.etcd_endpoint,), timeout=PATIENCE)) as client:
        yield client
