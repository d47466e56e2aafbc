"""Two servers on one etcd: each must respect what the other has written."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from apiserver_gateway.testing import ApiServer, wait_for
from storage.embedded import EmbeddedEtcd
from tests.forked import api_server

# so few addresses and ports that two servers that ignore each other would allocate the same
NARROW = ("--service-cluster-ip-range=10.0.0.0/27", "--service-node-port-range=30000-30019")


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[ApiServer, ApiServer]]:
    with (
        EmbeddedEtcd() as etcd,
        api_server(*NARROW, etcd_servers=etcd.endpoint) as one,
        api_server(*NARROW, etcd_servers=etcd.endpoint) as other,
    ):
        wait_for(one, "/api/v1/namespaces/default/serviceaccounts/default", bool)  # pods need it
        view = "/apis/rbac.authorization.k8s.io/v1/clusterroles/view"
        wait_for(one, view, lambda role: bool(role.get("rules")))  # a controller aggregates it
        yield one, other
