from __future__ import annotations

from collections.abc import Iterator

import pytest

from apiserver_gateway.testing import ApiServer, api_server


@pytest.fixture(scope="module")
def api() -> Iterator[ApiServer]:
    with api_server() as server:
        yield server
