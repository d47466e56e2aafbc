"""One server for the tests that only send requests to it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from apiserver_gateway.testing import ApiServer
from tests.forked import api_server
from tests.integration.server.client import ask
from tests.until import until


@pytest.fixture(scope="module")
def server() -> Iterator[ApiServer]:
    with api_server() as running:
        until(lambda: ask(running, "GET", "/readyz").status == 200)  # the default roles exist
        yield running
