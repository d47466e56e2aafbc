"""Replicas behind the rules of deploy/haproxy.cfg are restarted and killed, and no request fails.

A replica that stops on SIGTERM causes no retry. One that is killed causes one retry for each of its connections; HTTP
clients retry by themselves.
"""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from apiserver_gateway.testing import ApiServer
from storage.embedded import EmbeddedEtcd
from tests.clients.binaries import binary
from tests.clients.golang import built
from tests.ports import free_ports
from tests.until import until

MAPS = "/api/v1/namespaces/default/configmaps"
CLIENTS = 4
MOST_TRIES = 10
RESTARTS = int(os.environ.get("RESTARTS", "1"))  # restarts of each replica, under client-go and kubectl
REQUESTS = int(os.environ.get("REQUESTS", "0"))  # of client-go, which end the test; 0: RESTARTS does
RULES = Path(__file__).parents[2] / "deploy" / "haproxy.cfg"


class Load:
    """Clients that read and write through one address, each on its own persistent connection."""

    def __init__(self, port: int, token: str) -> None:
        self._port, self._token = port, token
        self._context, self._stop, self._lock = ssl._create_unverified_context(), threading.Event(), threading.Lock()
        self.requests = self.retries = self.most = self.failed = 0

    @contextmanager
    def running(self) -> Iterator[None]:
        threads = [threading.Thread(target=self._ask_on) for _ in range(CLIENTS)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._stop.set()
            for thread in threads:
                thread.join()

    def _ask_on(self) -> None:
        connection, count = self._connect(), 0
        while not self._stop.is_set():
            count, tries = count + 1, 0
            while tries <= MOST_TRIES:
                try:
                    self._ask(connection, writes=count % 4 == 0)
                    break
                except (OSError, http.client.HTTPException):
                    tries += 1
                    connection.close()
                    time.sleep(0.05 * tries)  # clients wait like this before they retry
            with self._lock:
                self.requests += 1
                self.retries += tries
                self.most, self.failed = max(self.most, tries), self.failed + (tries > MOST_TRIES)

    def _connect(self) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection("127.0.0.1", self._port, context=self._context, timeout=60)

    def _ask(self, connection: http.client.HTTPSConnection, *, writes: bool) -> None:
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        if writes:
            connection.request("POST", MAPS, json.dumps({"metadata": {"generateName": "x"}}), headers)
        else:
            connection.request("GET", f"{MAPS}/kube-root-ca.crt", headers=headers)
        answer = connection.getresponse()
        answer.read()
        if answer.status >= 500 or answer.status == 429:
            raise OSError(f"status {answer.status}")


@contextmanager
def balanced(directory: Path, port: int, replicas: list[ApiServer]) -> Iterator[Path]:
    """HAProxy with the shipped rules, on ports of this host, once it has found all replicas healthy. Returns its
    log.
    """
    rules, _, _ = (
        RULES.read_text(encoding="utf-8").replace("bind :6443", f"bind 127.0.0.1:{port}").partition("  server ")
    )
    servers = "".join(f"  server {each.directory.name} 127.0.0.1:{each.port}\n" for each in replicas)
    patience = "  timeout check 30s\n"  # no replica hangs, but all may be slow
    (path := directory / "haproxy.cfg").write_text(f"{rules}{patience}  option log-health-checks\n{servers}")
    program = shutil.which("haproxy", path=os.environ["PATH"] + os.pathsep + "/usr/sbin")
    if program is None:
        pytest.skip("there is no haproxy here")
    log = directory / "haproxy.log"
    with log.open("wb") as said:
        running = subprocess.Popen([program, "-f", path, "-db"], stdout=said, stderr=subprocess.STDOUT)
    try:
        for each in replicas:
            until(lambda name=each.directory.name: f"Health check for server gateways/{name} succeeded" in text_of(log))
        yield log
    finally:
        running.terminate()
        running.wait(60)


def text_of(log: Path) -> str:
    return log.read_text(errors="replace")


@pytest.mark.long
def test_no_request_fails_when_replicas_stop_and_die(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("a secret of some length")
    flags = [f"--identity-key-file={tmp_path}/secret", "--shutdown-delay-duration=6s"]
    (port,) = free_ports(1)
    with EmbeddedEtcd() as etcd:
        replicas = [ApiServer(tmp_path / name, flags, etcd.endpoint) for name in ("one", "two")]
        for replica in replicas:
            replica.directory.mkdir()
            replica.start()
        one, two = replicas
        try:
            load = Load(port, one.token)
            with balanced(tmp_path, port, replicas) as log, load.running():
                until(lambda: load.requests > 200)
                assert one.stop() == 0
                assert load.retries == load.failed == 0
                one = ApiServer(tmp_path / "one", [*flags, f"--secure-port={one.port}"], etcd.endpoint)
                one.start()
                until(lambda: "Server gateways/one is UP" in text_of(log))
                os.kill(two.pid, signal.SIGKILL)
                until(lambda: "Server gateways/two is DOWN" in text_of(log))
                asked = load.requests
                until(lambda: load.requests > asked + 200)
            assert load.failed == 0
            assert load.retries <= CLIENTS and load.most <= 1, (load.retries, load.most)
        finally:
            one.stop()
            two.stop()


def kubeconfig(directory: Path, replica: ApiServer, port: int) -> Path:
    """A kubeconfig for the load balancer."""
    (path := directory / "balanced.kubeconfig").write_text(
        replica.kubeconfig.read_text().replace(f"127.0.0.1:{replica.port}", f"127.0.0.1:{port}")
    )
    return path


@contextmanager
def kubectl_asks_on(path: Path) -> Iterator[list[tuple[int, str]]]:
    """Creates ConfigMaps with one kubectl process each, while another kubectl watches. Returns exit statuses and
    errors.
    """
    outcomes: list[tuple[int, str]] = []
    stop = threading.Event()
    words = [str(binary("kubectl")), f"--kubeconfig={path}"]

    def ask() -> None:
        for number in range(10_000):
            if stop.is_set():
                return
            made = [*words, "create", "configmap", f"kubectl-{number}"]
            done = subprocess.run(made, capture_output=True, text=True, timeout=120)
            outcomes.append((done.returncode, done.stderr))

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield outcomes
    finally:
        stop.set()
        thread.join()


@pytest.mark.long
def test_client_go_and_kubectl_notice_no_restart(tmp_path: Path) -> None:
    program = built("restarts")
    (tmp_path / "secret").write_text("a secret of some length")
    flags = [f"--identity-key-file={tmp_path}/secret", "--shutdown-delay-duration=6s"]
    (port,) = free_ports(1)
    with EmbeddedEtcd() as etcd, ExitStack() as stack:
        replicas = [ApiServer(tmp_path / name, flags, etcd.endpoint) for name in ("one", "two")]
        for replica in replicas:
            replica.directory.mkdir()
            replica.start()
            stack.callback(replica.stop)
        path = kubeconfig(tmp_path, replicas[0], port)
        log = stack.enter_context(balanced(tmp_path, port, replicas))
        words = [program, f"-kubeconfig={path}", *([f"-requests={REQUESTS}"] if REQUESTS else [])]
        client = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        stack.callback(client.kill)
        assert client.stdout is not None and client.stdout.readline() == "ready\n"
        with kubectl_asks_on(path) as outcomes:
            rounds = 0
            while client.poll() is None if REQUESTS else rounds < RESTARTS:
                rounds += 1
                for place, replica in enumerate(replicas):
                    found_well = f"Server gateways/{replica.directory.name} is UP"
                    times = text_of(log).count(found_well)
                    assert replica.stop() == 0
                    again = ApiServer(replica.directory, [*flags, f"--secure-port={replica.port}"], etcd.endpoint)
                    again.start()
                    stack.callback(again.stop)
                    replicas[place] = again
                    until(lambda words=found_well, times=times: text_of(log).count(words) > times)
            until(lambda: len(outcomes) > 3)
        client.terminate()
        told = json.loads(client.communicate(timeout=120)[0])
    print({**told, "kubectl": len(outcomes), "restarts": rounds * len(replicas)})
    assert told["requests"] >= (REQUESTS or 100) and told["created"] > 20
    assert (told["failed"], told["missed"]) == ([], 0)
    assert len(outcomes) > 3 and not [each for each in outcomes if each[0]]
