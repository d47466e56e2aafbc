"""What is deleted leaves nothing: custom kinds come and go, three times.

Names are others in each round. The second and the third round add neither metric series nor much memory.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from apiserver_gateway.testing import ApiServer, api_server
from gateway.endpoints.table import LINGER
from gateway.jsontypes import JsonObject
from tests.integration.server.client import ask, connect

NUMBER, ROUNDS = 500, 3
MOST_SERIES = 100  # that a round may add: counts of what all requests have in common
# that a thing may leave: the history of changes keeps some 20 KB of each definition, until it has 16 MB of them (three
# rounds); each deleted kind left 240 KB beside that
MOST_BYTES = 40_000
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@pytest.fixture
def api() -> Iterator[ApiServer]:
    with api_server() as started:
        yield started


def post(api: ApiServer, path: str, body: JsonObject) -> None:
    answer = ask(api, "POST", path, body)
    assert answer.status in (201, 409), answer


def serves(api: ApiServer, path: str) -> bool:
    return ask(api, "GET", path).status == 200


def until(holds: Callable[[], bool]) -> None:
    """Asks until it holds; a machine may be busy."""
    end = time.monotonic() + 600
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.1)


def series(api: ApiServer) -> int:
    """How many lines /metrics has."""
    connection = connect(api)
    connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {api.token}"})
    found = connection.getresponse().read().count(b"\n")
    connection.close()
    return found


def memory(api: ApiServer) -> int:
    """The bytes of memory that are the server's own."""
    lines = Path(f"/proc/{api.pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith(("Private_Dirty", "Swap:")))


def kinds(api: ApiServer, names: list[str]) -> None:
    for name in names:
        schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
        spec = {"group": "e.com", "scope": "Namespaced", "versions": [version]}
        spec["names"] = {"plural": name, "kind": name.title()}
        post(api, DEFINITIONS, {"metadata": {"name": f"{name}.e.com"}, "spec": spec})
    for name in names:
        path = f"/apis/e.com/v1/namespaces/default/{name}"
        until(partial(serves, api, path))
        post(api, path, {"apiVersion": "e.com/v1", "kind": name.title(), "metadata": {"name": "one"}})
        ask(api, "GET", path)
    ask(api, "GET", "/openapi/v3/apis/e.com/v1")
    for name in names:
        ask(api, "DELETE", f"{DEFINITIONS}/{name}.e.com")
    until(lambda: not ask(api, "GET", DEFINITIONS).json["items"])


@pytest.mark.timeout(900)  # it makes and deletes 1 500 definitions: three minutes on a quiet machine
def test_kinds_that_have_gone_leave_nothing(api: ApiServer) -> None:
    found = []
    for turn in range(ROUNDS):
        kinds(api, [f"n{turn}x{number}s" for number in range(NUMBER)])
        time.sleep(2 * LINGER)  # watches of a kind that has gone are told so for a moment
        found.append((series(api), memory(api)))
    for before, after in itertools.pairwise(found):
        assert after[0] - before[0] < MOST_SERIES, found
        assert after[1] - before[1] < MOST_BYTES * NUMBER, found
