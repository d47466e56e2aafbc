"""Two servers on one etcd that the tests of this folder share."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from apiserver_gateway.testing import ApiServer
from storage.embedded import EmbeddedEtcd
from tests.forked import api_server
from tests.integration.reads.api import Client


@dataclass(frozen=True, slots=True)
class Replicas:
    etcd: EmbeddedEtcd
    one: ApiServer
    other: ApiServer


@pytest.fixture(scope="package")
def replicas() -> Iterator[Replicas]:
    flags = ("--etcd-compaction-interval=0", "--controllers=-*")  # no other writes than the test's
    with (
        EmbeddedEtcd() as etcd,
        api_server(*flags, etcd_servers=etcd.endpoint) as one,
        api_server(*flags, etcd_servers=etcd.endpoint) as other,
    ):
        yield Replicas(etcd, one, other)


@pytest.fixture
def one(replicas: Replicas) -> Iterator[Client]:
    """The first replica, with a namespace for the test."""
    client = Client(replicas.one, f"reads-{uuid.uuid4().hex[:8]}")
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": client.namespace}}
    assert client.ask("POST", "/api/v1/namespaces", namespace).status == 201
    yield client
    client.close()


@pytest.fixture
def other(replicas: Replicas, one: Client) -> Iterator[Client]:
    """The second replica, in the same namespace."""
    client = one.on(replicas.other)
    yield client
    client.close()
