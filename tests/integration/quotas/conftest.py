"""Two servers on one etcd."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from apiserver_gateway.testing import ApiServer
from storage.embedded import EmbeddedEtcd
from tests.forked import api_server

FLAGS = ("--controllers=namespace-controller,resourcequota-controller", "--disable-admission-plugins=ServiceAccount")


@pytest.fixture(scope="package")
def servers() -> Iterator[tuple[ApiServer, ApiServer]]:
    with (
        EmbeddedEtcd() as etcd,
        api_server(*FLAGS, etcd_servers=etcd.endpoint) as one,
        api_server(*FLAGS, etcd_servers=etcd.endpoint) as other,
    ):
        yield one, other
