"""Large lists take long to encode and have many bytes: they delay no other request, and leave no memory behind."""

from __future__ import annotations

import contextlib
import json
import socket
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from apiserver_gateway.testing import ApiServer
from tests.hostile.probe import MEGABYTE, held_at_most, memory, memory_returns
from tests.hostile.wire import Wire
from tests.integration.server.client import ask, connect
from tests.limits import at_most

COUNT = 1500
SIZE = 16_000  # bytes of an object
LIST = "/api/v1/configmaps?resourceVersion=0"
CROWD = 20
PATIENCE = 1.5  # seconds that clients continue to read
LIMIT = 0.1
LARGE = 240.0  # seconds that one large answer may take on a busy machine
META = "v=v1;g=meta.k8s.io"


@pytest.fixture(scope="module", autouse=True)
def objects(module_server: ApiServer) -> Iterator[None]:
    """Creates objects of together some tens of megabytes."""
    data = {f"key-{number}": "value " * 32 for number in range(SIZE // 200)}

    def create(first: int) -> None:
        connection = connect(module_server)
        headers = {"Authorization": f"Bearer {module_server.token}", "Content-Type": "application/json"}
        for number in range(first, COUNT, 4):
            body = json.dumps({"metadata": {"name": f"map-{number:05}"}, "data": data})
            connection.request("POST", "/api/v1/namespaces/default/configmaps", body, headers)
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 201
        connection.close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(create, range(4)))
    yield


def read(server: ApiServer, path: str, accept: str, patience: float = LARGE, coding: str = "identity") -> int:
    """Reads an answer, or a part of it. Returns its status."""
    connection, deadline = connect(server, LARGE), time.monotonic() + patience
    try:
        headers = {"Accept": accept, "Accept-Encoding": coding, "Authorization": f"Bearer {server.token}"}
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        while answer.read1(MEGABYTE) and time.monotonic() < deadline:
            pass
        return answer.status
    finally:
        connection.close()


CASES = {
    "json": ("application/json", "", "identity"),
    "gzip": ("application/json", "", "gzip"),
    "indented": ("application/json", "&pretty=1", "identity"),
    "yaml": ("application/yaml", "", "identity"),
    "protobuf": ("application/vnd.kubernetes.protobuf", "", "identity"),
    "table": (f"application/json;as=Table;{META}", "&includeObject=Object", "identity"),
    "table in yaml": (f"application/yaml;as=Table;{META}", "&includeObject=Object", "identity"),
    "metadata, indented": (f"application/json;as=PartialObjectMetadataList;{META}", "&pretty=1", "gzip"),
}


@pytest.mark.parametrize(("accept", "query", "coding"), CASES.values(), ids=CASES)
def test_many_lists_at_once_hold_nobody(server: ApiServer, accept: str, query: str, coding: str) -> None:
    path = LIST + query
    with held_at_most(server, LIMIT):
        read(server, path, accept, PATIENCE, coding)  # the caches of encoded objects are full from here on
    with held_at_most(server, LIMIT), memory_returns(server), ThreadPoolExecutor(CROWD) as pool:
        answers = pool.map(lambda _: read(server, path, accept, PATIENCE, coding), range(CROWD))
        assert set(answers) == {200}


def keeps_at_most(server: ApiServer, megabytes: float) -> None:
    at_most(memory(server.pid) / MEGABYTE, megabytes, "{found:.0f} MB are in use, {limit:.0f} are allowed")


def read_selections(server: ApiServer, numbers: range) -> None:
    for number in numbers:
        assert read(server, f"{LIST}&labelSelector=a!=b{number}", "application/json") == 200


def test_lists_of_many_selections_do_not_stay(server: ApiServer) -> None:
    read_selections(server, range(25))  # the caches of selections are full from here on
    with memory_returns(server, share=0.3):
        read_selections(server, range(25, 50))
        keeps_at_most(server, 700)


def test_clients_that_stop_reading_take_places_and_little_memory(server: ApiServer) -> None:
    before = memory(server.pid)
    wires = [Wire(server) for _ in range(70)]
    try:
        for wire in wires:
            wire.request(f"GET {LIST}&pretty=1")
        refused = []
        for wire in wires:
            line = wire.socket.recv(12)
            refused.append(line == b"HTTP/1.1 429")
        assert 0 < sum(refused) < len(wires)
        keeps_at_most(server, before / MEGABYTE + 250)
        answer = ask(server, "GET", f"{LIST}&pretty=1")
        assert (answer.status, answer.headers["retry-after"]) == (429, "1")
        assert answer.json["details"]["retryAfterSeconds"] == 1
    finally:
        for wire in wires:
            with contextlib.suppress(OSError):  # the server may have closed the connection
                wire.socket.shutdown(socket.SHUT_RDWR)
    deadline = time.monotonic() + LARGE
    while ask(server, "GET", f"{LIST}&pretty=1").status != 200:  # places are free again as soon as the clients are gone
        assert time.monotonic() < deadline


@pytest.mark.parametrize("accept", ["application/yaml", "application/vnd.kubernetes.protobuf"])
def test_one_big_object_holds_nobody(server: ApiServer, accept: str) -> None:
    data = {f"key-{number}": "value" for number in range(40_000)}
    path = "/api/v1/namespaces/default/configmaps"
    name = f"big-{uuid.uuid4().hex}"  # unique for this run: another run may use the same server
    assert ask(server, "POST", path, {"metadata": {"name": name}, "data": data}).status == 201
    with held_at_most(server, LIMIT), ThreadPoolExecutor(4) as pool:
        assert set(pool.map(lambda _: read(server, f"{path}/{name}", accept), range(4))) == {200}
