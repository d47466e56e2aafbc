"""Server processes: start, stop, crashes, and several workers."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from apiserver_gateway.testing import ApiServer, ServerDidNotStart, api_server
from storage.embedded import EmbeddedEtcd
from tests.integration.server.client import ask, connect
from tests.limits import at_most_cpu
from tests.until import until

WATCH = "/api/v1/namespaces?watch=1&resourceVersion=0"
SOON = 60.0  # seconds in which an expected change must have come


def children(pid: int) -> set[int]:
    """The worker processes of a server; not the guard of its etcd."""
    found = set()
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
            if b"etcd-guard" not in Path(f"/proc/{child}/cmdline").read_bytes():
                found.add(int(child))
    return found


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_a_server_is_ready_soon() -> None:
    """In CPU time, so that other load does not count; etcd starts in parallel."""
    with api_server() as server:
        at_most_cpu(cpu_seconds(server.pid), 1.5)


def test_stopping_ends_watches_cleanly() -> None:
    with api_server() as server:
        connection = connect(server)
        connection.request("GET", WATCH, headers={"Authorization": f"Bearer {server.token}"})
        response = connection.getresponse()
        assert b'"type":"ADDED"' in response.readline()
        assert server.stop() == 0
        remaining = response.read()  # raises IncompleteRead if the stream is cut off
        assert remaining == b"" or remaining.endswith(b"\n")


def open_watches(server: ApiServer) -> float:
    """The number of open watches of namespaces."""
    text = ask(server, "GET", "/metrics").body.decode()
    lines = (line for line in text.splitlines() if line.startswith("apiserver_longrunning_requests{"))
    return sum(float(line.rpartition(" ")[2]) for line in lines if 'resource="namespaces"' in line)


def test_a_client_that_leaves_ends_its_watch(server: ApiServer) -> None:
    before = open_watches(server)
    connection = connect(server)
    connection.request("GET", WATCH, headers={"Authorization": f"Bearer {server.token}"})
    connection.getresponse().readline()
    assert open_watches(server) == before + 1
    connection.close()
    deadline = time.monotonic() + SOON
    while open_watches(server) != before:
        assert time.monotonic() < deadline, "the watch goes on for nobody"
        ask(server, "POST", "/api/v1/namespaces?dryRun=All", {"metadata": {"name": "a"}})


def test_a_server_ends_with_who_started_it() -> None:
    script = (
        "import time; from apiserver_gateway.testing import api_server\n"
        "with api_server() as server: print(server.pid, flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as starter:
        assert starter.stdout is not None
        server = os.pidfd_open(int(starter.stdout.readline()))
        starter.kill()
        assert select.select([server], [], [], SOON)[0], "the server is still there"


def test_a_dead_worker_is_replaced() -> None:
    """The other worker answers meanwhile. The replacement answers when the other one has died, too."""
    with api_server("--workers=2") as server:
        # the kernel spreads connections, so that each worker is asked: both know the default roles
        until(lambda: all(ask(server, "GET", "/readyz").status == 200 for _ in range(16)))
        first, second = sorted(children(server.pid))
        kill(first)
        assert [ask(server, "GET", "/readyz").status for _ in range(4)] == [200] * 4
        (third,) = two_workers(server, without={first}) - {second}
        kill(second)
        assert third in two_workers(server, without={first, second})
        assert is_ready_soon(server)


def kill(pid: int) -> None:
    gone = os.pidfd_open(pid)
    try:
        os.kill(pid, signal.SIGKILL)
        assert select.select([gone], [], [], SOON)[0]
    finally:
        os.close(gone)


def two_workers(server: ApiServer, without: set[int]) -> set[int]:
    """The two workers, once there are two that are not in `without`."""
    deadline = time.monotonic() + SOON
    while len(found := children(server.pid) - without) < 2:
        assert time.monotonic() < deadline, "nobody comes in the place of who died"
    return found


def is_ready_soon(server: ApiServer) -> bool:
    deadline = time.monotonic() + SOON
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError):  # no process listens yet
            if ask(server, "GET", "/readyz").status == 200:
                return True
    return False


def test_replicas_agree_on_what_every_cluster_has() -> None:
    with EmbeddedEtcd() as etcd, api_server(etcd_servers=etcd.endpoint) as one:
        first = ask(one, "GET", "/api/v1/namespaces/default").json["metadata"]["uid"]
        with api_server("--advertise-address=192.0.2.77", etcd_servers=etcd.endpoint) as other:
            assert ask(other, "GET", "/api/v1/namespaces/default").json["metadata"]["uid"] == first
            endpoints = "/api/v1/namespaces/default/endpoints/kubernetes"
            # a server publishes its address while it already serves requests
            until(lambda: {"ip": "192.0.2.77"} in ask(one, "GET", endpoints).json["subsets"][0]["addresses"])


def test_without_etcd_requests_get_a_status_and_health_says_so() -> None:
    with EmbeddedEtcd() as etcd, api_server(etcd_servers=etcd.endpoint) as server:
        etcd.kill()
        answer = ask(server, "GET", "/api/v1/namespaces/default")
        assert answer.status in (503, 504)
        assert (answer.json["kind"], answer.headers["retry-after"]) == ("Status", "1")
        health = ask(server, "GET", "/readyz")
        assert health.status == 500 and b"[-]etcd failed: reason withheld" in health.body
        assert ask(server, "GET", "/api/v1/namespaces/default?resourceVersion=0").status == 200


def test_a_server_that_cannot_start_says_why(tmp_path: Path) -> None:
    server = ApiServer(tmp_path, ["--bind-address=192.0.2.200"])
    with pytest.raises(ServerDidNotStart, match=r"cannot listen on 192\.0\.2\.200"):
        server.start()


def test_nobody_needs_to_name_an_etcd_twice() -> None:
    command = [sys.executable, "-m", "gateway", "serve"]
    refused = subprocess.run(command, capture_output=True, text=True, check=False)
    assert refused.returncode == 1
    assert "--embedded-etcd" in refused.stderr
