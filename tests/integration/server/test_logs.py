"""A server's log: with --log-format=json each line is an object, whatever happens; each problem is one line."""

from __future__ import annotations

import json
import socket
import ssl
import subprocess
import sys
import time
from pathlib import Path

import pytest

from apiserver_gateway.testing import ApiServer
from storage.embedded import EmbeddedEtcd
from tests.hasty import hasty, program
from tests.integration.crash import crash
from tests.integration.server.client import ask
from tests.until import until

SERVE = [sys.executable, "-m", "apiserver_gateway", "serve"]
OLD_ETCD = "this etcd may lose acknowledged writes"  # of the etcd in the package
LARGE = "x" * 900_000
BUSY = (
    "not ready yet",
    "waiting for etcd: ",
    "loading from etcd: ",
    "the event loop was blocked",
)  # messages of a busy machine; tests/stalls.py checks the last one


def records(text: str) -> list[dict[str, object]]:
    """The log's records. Each line must be one object with a time, a level and a message."""
    found = [json.loads(line) for line in text.splitlines()]
    assert all({"time", "level", "message"} <= each.keys() for each in found)
    return found


@pytest.mark.parametrize(
    "flags",
    [
        ["--log-format=json", "--nonsense"],
        ["--nonsense", "--logging-format", "json"],
        ["--log-format=json", "--embedded-etcd", "--secure-port=x"],
        ["--log-format=json", "--embedded-etcd", "--cert-dir=/proc/none"],
        ["--log-format=json", "--etcd-servers=http://127.0.0.1:1", "--token-auth-file=/none"],
    ],
)
def test_a_start_that_fails_says_so_in_json(flags: list[str]) -> None:
    refused = subprocess.run([*SERVE, *flags], capture_output=True, text=True, check=False, timeout=120)
    assert refused.returncode == 1 and refused.stdout == ""
    assert records(refused.stderr)[-1]["level"] == "error"


def test_a_crash_is_a_record_too() -> None:
    code = (
        "import threading, warnings, gateway.launch.launch as launching\n"
        "from gateway.commands.serving import serve\n"
        "def crash(*_):\n"
        "    warnings.warn('a library warns')\n"
        "    thread = threading.Thread(target=lambda: 1 / 0)\n"
        "    thread.start(), thread.join()\n"
        "    raise RuntimeError('nobody catches this')\n"
        "launching.check_files = crash\n"
        "serve(['--log-format=json', '--embedded-etcd'])\n"
    )
    crashed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120)
    said = records(crashed.stderr)
    assert crashed.returncode == 1 and crashed.stdout == ""
    assert [each["level"] for each in said] == ["warning", "critical", "critical"]
    assert "a library warns" in str(said[0]["message"]) and "ZeroDivisionError" in str(said[1]["exception"])
    assert said[2]["message"] == "uncaught: nobody catches this"


def test_a_run_is_told_from_start_to_end_without_a_warning(tmp_path: Path) -> None:
    """Two workers start at once on an empty etcd. Neither warns of objects that the other has created, nor of clients
    that disconnect in the middle of a list.
    """
    server = ApiServer(tmp_path, ["--log-format=json", "--workers=2", "-v=3", f"--data-dir={tmp_path}/data"])
    server.start()
    try:
        assert ask(server, "GET", "/api/v1/namespaces").status == 200
        for number in range(8):
            large = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c{number}"}, "data": {"a": LARGE}}
            assert ask(server, "POST", "/api/v1/namespaces/default/configmaps", large).status == 201
        for _ in range(10):
            leave_in_the_middle(server, "/api/v1/configmaps")
    finally:
        assert server.stop() == 0
    said = records(server.log_file.read_text())
    first, last = said[0], said[-1]
    assert first["message"] == "starting" and {"version", "etcd", "data", "on", "authorization"} <= first.keys()
    assert last["message"] == "all workers have stopped"
    assert any(each["message"] == "HTTP" and each["URI"] == "/api/v1/namespaces" for each in said)
    worse = [each for each in said if each["level"] not in ("info", "debug")]
    assert not [each for each in worse if not str(each["message"]).startswith((OLD_ETCD, *BUSY))]


def leave_in_the_middle(server: ApiServer, path: str) -> None:
    """Requests a list, and closes the connection after a part of it."""
    trust = ssl.create_default_context(cafile=str(server.ca_file))
    trust.check_hostname = False
    with trust.wrap_socket(socket.create_connection(("127.0.0.1", server.port), 60)) as client:
        client.sendall(f"GET {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {server.token}\r\n\r\n".encode())
        assert client.recv(65536)


SOON = {"gateway.controllers.replicas.ROUND": 0.2, "gateway.controllers.identity.RENEW_EVERY": 0.2}


def test_an_etcd_that_is_gone_is_one_line_and_its_return_another() -> None:
    """Other parts that needed etcd meanwhile log that only with -v=4."""
    with EmbeddedEtcd() as etcd, hasty(SOON, "-v=4", etcd_servers=etcd.endpoint) as server:
        until(lambda: ask(server, "GET", "/readyz").status == 200)
        begun = len(server.log_file.read_text())  # until then the check may have failed, which is logged
        crash(etcd)
        said(server, "the watch on etcd was interrupted")
        said(server, "debug gateway.controllers.replicas: this server's address could not be published")
        said(server, "debug gateway.controllers.identity: this server's lease was not renewed")
        etcd.start()
        said(server, "the watch on etcd continues")
        lines = server.log_file.read_text()[begun:].splitlines()
    trouble = [line for line in lines if " warning " in line and not any(map(line.__contains__, (OLD_ETCD, *BUSY)))]
    assert len(trouble) == 1, "\n".join(trouble)


def said(server: ApiServer, words: str) -> None:
    """Waits until the log has these words."""
    deadline = time.monotonic() + 60
    while words not in server.log_file.read_text():
        assert time.monotonic() < deadline, server.log_file.read_text()
        time.sleep(0.02)


def test_replicas_wait_for_etcd_and_name_it(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("a secret of some length")
    with EmbeddedEtcd(loopback=True) as etcd:
        endpoint = etcd.endpoint
    flags = [f"--etcd-servers={endpoint}", f"--identity-key-file={tmp_path}/secret", f"--cert-dir={tmp_path}/keys"]
    command = [*program({"gateway.launch.patient.LOG_INTERVAL": 0.5}), "serve", *flags, "--secure-port=0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        try:
            said = next(line for line in server.stderr if "not ready yet" in line)
            assert f"waiting for etcd at {endpoint}" in said
        finally:
            server.terminate()
