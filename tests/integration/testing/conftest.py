from __future__ import annotations

from collections.abc import Iterator

import pytest

from apiserver_gateway.testing import ApiServer, api_server, wait_for


@pytest.fixture(scope="module")
def api() -> Iterator[ApiServer]:
    """One in which the controllers have made what they make of each namespace: a state is kept of what is there."""
    with api_server() as server:
        for namespace in ("default", "kube-node-lease", "kube-public", "kube-system"):
            for made in ("configmaps/kube-root-ca.crt", "serviceaccounts/default"):
                wait_for(server, f"/api/v1/namespaces/{namespace}/{made}", bool)
        yield server
