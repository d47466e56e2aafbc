"""Watches get a change before the write is answered.

Controllers with caches compare the version of their last write with that of their watches (client-go's consistency
stores). So they find that they are up to date.
"""

from __future__ import annotations

import select
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing

import pytest

from apiserver_gateway.testing import ApiServer
from tests.forked import api_server
from tests.integration.server.client import ask, connect
from tests.until import until

MAPS = "/api/v1/namespaces/default/configmaps"
WATCHES, WRITES = 20, 20


@pytest.fixture(scope="module")
def server() -> Iterator[ApiServer]:
    """A server with few writes of its own: if other writes come between, etcd's watch delivers a write later."""
    with api_server("--controllers=-*") as running:
        until(lambda: ask(running, "GET", "/readyz").status == 200)  # the default roles exist
        yield running


@pytest.fixture
def watching(server: ApiServer) -> Iterator[list[socket.socket]]:
    """Watches of ConfigMaps that have sent all events so far."""
    version = ask(server, "GET", MAPS).json["metadata"]["resourceVersion"]
    headers = {"Authorization": f"Bearer {server.token}"}
    with ExitStack() as stack:
        connections = [stack.enter_context(closing(connect(server))) for _ in range(WATCHES)]
        for each in connections:
            each.request("GET", f"{MAPS}?watch=1&resourceVersion={version}", headers=headers)
        assert {each.getresponse().status for each in connections} == {200}
        yield [each.sock for each in connections]


def test_watchers_are_told_of_a_write_before_it_is_answered(server: ApiServer, watching: list[socket.socket]) -> None:
    told = 0
    headers = {"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"}
    with closing(connect(server)) as writer:
        for number in range(WRITES):
            writer.request("POST", MAPS, f'{{"metadata":{{"name":"order-{number}"}}}}', headers)
            select.select([writer.sock], [], [], 60)
            if number:  # the first bytes of a connection belong to TLS
                told += len(select.select(watching, [], [], 0)[0])
            answer = writer.getresponse()
            assert answer.status == 201, answer.read()
            answer.read()
            for each in watching:
                seen = b""
                while b"\n\r\n" not in seen:
                    seen += each.recv(65536)
    assert told > WATCHES * (WRITES - 1) * 0.9
