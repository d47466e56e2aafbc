"""Servers whose webhooks are looked at: two on one etcd."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from apiserver_gateway.testing import ApiServer, api_server
from storage.embedded import EmbeddedEtcd


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
