"""Two servers on one etcd."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from apiserver_gateway.testing import ApiServer, api_server
from storage.embedded import EmbeddedEtcd
from tests.integration.customresources.hook import Hook, serving


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[ApiServer, ApiServer]]:
    with (
        EmbeddedEtcd() as etcd,
        api_server(etcd_servers=etcd.endpoint) as one,
        api_server(etcd_servers=etcd.endpoint) as other,
    ):
        yield one, other


@pytest.fixture
def server(servers: tuple[ApiServer, ApiServer]) -> ApiServer:
    return servers[0]


@pytest.fixture(scope="module")
def hook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hook]:
    """A conversion webhook."""
    with serving(tmp_path_factory.mktemp("hook")) as made:
        yield made
