from __future__ import annotations

from collections.abc import Iterator

import pytest

from apiserver_gateway.testing import ApiServer, api_server, wait_for


@pytest.fixture(scope="module")
def api() -> Iterator[ApiServer]:
    """A server whose controllers have created their objects in each namespace, since a snapshot has all objects."""
    with api_server() as server:
        for namespace in ("default", "kube-node-lease", "kube-public", "kube-system"):
            for made in ("configmaps/kube-root-ca.crt", "serviceaccounts/default"):
                wait_for(server, f"/api/v1/namespaces/{namespace}/{made}", bool)
        yield server
