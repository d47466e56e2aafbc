"""Two servers on one etcd whose webhook configurations are tested, and helpers for writes on them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer, namespace, wait_for
from storage.embedded import EmbeddedEtcd
from tests.forked import api_server

POD = {"metadata": {"name": "p"}, "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]}}


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[ApiServer, ApiServer]]:
    with (
        EmbeddedEtcd() as etcd,
        api_server("--disable-admission-plugins=ServiceAccount", etcd_servers=etcd.endpoint) as one,
        api_server("--disable-admission-plugins=ServiceAccount", etcd_servers=etcd.endpoint) as other,
    ):
        yield one, other


@pytest.fixture(scope="module")
def server(servers: tuple[ApiServer, ApiServer]) -> ApiServer:
    return servers[0]


@pytest.fixture
def place(server: ApiServer) -> Iterator[str]:
    with furnished(server) as name:
        yield name


@contextmanager
def furnished(server: ApiServer) -> Iterator[str]:
    """A namespace in which the controllers have created their objects: webhooks see only the test's own writes
    there.
    """
    with namespace(server) as name:
        for made in ("configmaps/kube-root-ca.crt", "serviceaccounts/default"):
            wait_for(server, f"/api/v1/namespaces/{name}/{made}", bool)
        yield name


def here(place: str) -> dict[str, Any]:
    """Restricts a webhook to one namespace, because other tests run at the same time."""
    return {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": place}}}


def maps(place: str) -> str:
    return f"/api/v1/namespaces/{place}/configmaps"


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "data": data}
