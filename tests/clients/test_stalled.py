"""While etcd does not answer, client-go's writes wait, and none is stored twice; reads from the cache are answered."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Iterator
from http.client import HTTPSConnection
from statistics import median

import pytest

from apiserver_gateway.testing import ApiServer, api_server
from storage.embedded import EmbeddedEtcd
from tests.clients.golang import built
from tests.integration.server.client import ask, connect
from tests.limits import Withheld, at_most

STALL = 8.0  # seconds
CREATES, CHANGES = 1000, 100


@pytest.fixture
def etcd() -> Iterator[EmbeddedEtcd]:
    with EmbeddedEtcd() as running:
        yield running


@pytest.fixture
def alone(etcd: EmbeddedEtcd) -> Iterator[ApiServer]:
    with api_server("--controllers=-*", etcd_servers=etcd.endpoint) as running:
        yield running


def test_no_client_finds_what_it_wrote_itself(alone: ApiServer, etcd: EmbeddedEtcd) -> None:
    command = [built("stalled"), f"-kubeconfig={alone.kubeconfig}", f"-creates={CREATES}", f"-changes={CHANGES}"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        assert program.stdin is not None
        assert program.stdout.readline() == "ready\n"
        reader = connect(alone)  # first, because the writers' TLS handshakes keep a busy machine for seconds
        _read(reader, alone.token)
        withheld = Withheld()
        etcd.pause()
        end = time.monotonic() + STALL
        timer = threading.Timer(STALL, etcd.resume)  # also if the last read takes long
        timer.start()
        try:
            program.stdin.write("go\n")
            program.stdin.flush()
            took: list[float] = []
            while time.monotonic() < end:
                took.append(_read(reader, alone.token))
                time.sleep(0.1)
        finally:
            timer.join()
            reader.close()
        said = json.loads(program.stdout.read())
    assert said["outcomes"] == {"create done": CREATES, "update done": CHANGES, "delete done": CHANGES}, said
    at_most(median(took), 2 + withheld.until_now())  # reads from the cache do not wait for writes
    listed = ask(alone, "GET", "/api/v1/namespaces/default/configmaps").json["items"]
    assert len(listed) == CREATES + CHANGES


def _read(connection: HTTPSConnection, token: str) -> float:
    """Reads with resourceVersion=0. Returns the seconds."""
    began = time.monotonic()
    for path in (
        "/api/v1/namespaces/default/configmaps?resourceVersion=0&limit=10",
        "/api/v1/namespaces?resourceVersion=0",
        "/api/v1/namespaces/default?resourceVersion=0",
    ):
        connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        assert answer.read() and answer.status == 200
    return time.monotonic() - began
