"""Lists of much, which take long to write and whose bytes are many: they hold nobody, and none of them stays."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from gateway.testing import ApiServer
from tests.hostile.probe import MEGABYTE, held_at_most, memory_returns
from tests.integration.server.client import connect

COUNT = 10_000
LIST = "/api/v1/configmaps?resourceVersion=0"
LIMIT = 0.1
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
METADATA = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
TABLE_YAML = "application/yaml;as=Table;v=v1;g=meta.k8s.io"


@pytest.fixture(scope="module", autouse=True)
def objects(module_server: ApiServer) -> Iterator[None]:
    """Some ten thousand objects of 4 KB."""
    data = {f"key-{number}": "value " * 30 for number in range(20)}

    def create(first: int) -> None:
        connection = connect(module_server)
        headers = {"Authorization": f"Bearer {module_server.token}", "Content-Type": "application/json"}
        for number in range(first, COUNT, 8):
            body = json.dumps({"metadata": {"name": f"map-{number:05}", "labels": {"n": str(number)}}, "data": data})
            connection.request("POST", "/api/v1/namespaces/default/configmaps", body, headers)
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 201
        connection.close()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(create, range(8)))
    yield


def read(server: ApiServer, path: str, accept: str, most: float, **headers: str) -> tuple[int, int]:
    """The status of an answer and how many bytes came of it, in at most so many seconds."""
    connection, size, deadline = connect(server, 30), 0, time.monotonic() + most
    try:
        sent = {"Accept": accept, "Authorization": f"Bearer {server.token}", **headers}
        connection.request("GET", path, headers=sent)
        answer = connection.getresponse()
        while (data := answer.read(MEGABYTE)) and time.monotonic() < deadline:
            size += len(data)
        return answer.status, size
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("accept", "query", "agent"),
    [
        ("application/json", "", "go"),
        ("application/json", "&pretty=1", "go"),
        ("application/yaml", "", "go"),
        ("application/vnd.kubernetes.protobuf", "", "go"),
        (TABLE, "&includeObject=Object", "go"),
        (METADATA, "&pretty=1", "go"),
        (TABLE_YAML, "", "go"),
    ],
)
def test_twenty_lists_at_once_hold_nobody(server: ApiServer, accept: str, query: str, agent: str) -> None:
    with held_at_most(server, LIMIT), memory_returns(server, patience=20), ThreadPoolExecutor(20) as pool:
        answers = pool.map(lambda _: read(server, LIST + query, accept, 3.0), range(20))
        assert {status for status, _ in answers} == {200}
