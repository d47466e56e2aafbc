"""Two servers on one etcd, and a conversion webhook."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from apiserver_gateway.testing import ApiServer, wait_for
from storage.embedded import EmbeddedEtcd
from tests.forked import api_server
from tests.integration.customresources.hook import Hook, serving


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[ApiServer, ApiServer]]:
    """Two replicas. The first one runs the controllers: it serves a CRD once the CRD is Established."""
    with EmbeddedEtcd() as etcd, api_server(etcd_servers=etcd.endpoint) as one:
        wait_for(one, "/api/v1/namespaces/default/serviceaccounts/default", bool)  # a controller makes it
        with api_server(etcd_servers=etcd.endpoint) as other:
            yield one, other


@pytest.fixture
def server(servers: tuple[ApiServer, ApiServer]) -> ApiServer:
    return servers[0]


@pytest.fixture(scope="module")
def hook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hook]:
    """A conversion webhook."""
    with serving(tmp_path_factory.mktemp("hook")) as made:
        yield made
