"""One server for the tests of deletion, with a namespace for each test."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from apiserver_gateway.testing import ApiServer, wait_for
from tests.forked import api_server
from tests.integration.lifecycle.api import Api


@pytest.fixture(scope="package")
def server() -> Iterator[ApiServer]:
    with api_server() as running:
        wait_for(running, "/api/v1/namespaces/default/serviceaccounts/default", bool)  # the controllers run
        yield running


@pytest.fixture
def api(server: ApiServer) -> Api:
    return Api(server, f"t-{uuid.uuid4().hex[:8]}").begin()
