"""exec, attach, portforward and proxy have no dry run: a request with dryRun is refused, and not carried out."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from apiserver_gateway.testing import ApiServer
from tests.forked import api_server
from tests.integration.server.client import ask

POD = "/api/v1/namespaces/default/pods/none"


@pytest.fixture(scope="module")
def server() -> Iterator[ApiServer]:
    with api_server() as started:
        yield started


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("subresource", ["exec", "attach", "portforward", "proxy", "proxy/path"])
@pytest.mark.parametrize("given", ["dryRun=All", "dryRun="])
def test_a_dry_run_of_a_connection_is_refused(server: ApiServer, method: str, subresource: str, given: str) -> None:
    refused = ask(server, method, f"{POD}/{subresource}?{given}&command=true&ports=1")
    assert (refused.status, refused.json["message"]) == (400, "dryRun is not supported")
    assert ask(server, method, f"{POD}/{subresource}?command=true&ports=1").status != 400
