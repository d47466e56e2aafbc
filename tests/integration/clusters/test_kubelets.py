"""exec, attach, portforward and logs in a control plane: what cannot be reached from it is refused in clear words."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from apiserver_gateway.testing import ApiServer, Cluster, wait_for
from gateway.credentials.certificates import ensure_certificates, server_context
from tests.forked import api_server
from tests.integration.server.client import Answer
from tests.integration.server.client import ask as raw

PODS = "/api/v1/namespaces/default/pods"
POD = f"{PODS}/p"
SESSIONS = [f"{POD}/exec?command=x&stdout=1", f"{POD}/attach?stdout=1", f"{POD}/portforward?ports=80"]
UPGRADE = {"connection": "Upgrade", "upgrade": "SPDY/3.1", "x-stream-protocol-version": "v4.channel.k8s.io"}
MERGE = {"Content-Type": "application/merge-patch+json"}


class Kubelet(ThreadingHTTPServer):
    """Answers all requests with a status, and keeps their paths."""

    def __init__(self, status: int, secured: ssl.SSLContext) -> None:
        self.status, self.paths = status, list[str]()
        super().__init__(("127.0.0.1", 0), _Answers)
        self.socket = secured.wrap_socket(self.socket, server_side=True)


class _Answers(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, Kubelet)
        self.server.paths.append(self.path)
        said = b"a line"
        self.send_response(self.server.status)
        self.send_header("content-length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    do_POST = do_GET

    def log_message(self, *_: object) -> None: ...


@pytest.fixture(scope="module")
def near() -> Iterator[ApiServer]:
    """A server whose control planes may call this host."""
    with api_server("--control-planes", "--control-planes-reach=127.0.0.0/8") as running:
        yield running


@pytest.fixture
def kubelet(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Kubelet]:
    files = ensure_certificates(tmp_path, ["127.0.0.1"])
    with Kubelet(request.param, server_context(files.certificate, files.key)) as listening:
        thread = Thread(target=listening.serve_forever)
        thread.start()
        yield listening
        listening.shutdown()
        thread.join()


def ask(cluster: Cluster, method: str, path: str, body: object = None, headers: dict[str, str] | None = None) -> Answer:
    place = f"/clusters/{cluster.name}{path}"
    return raw(cluster.server, method, place, body, token=cluster.token, headers=headers or {})  # type: ignore[arg-type]


def make_pod(cluster: Cluster, port: int = 0) -> None:
    """Makes a pod on the node n; with a port, the node too, whose kubelet is at this host."""
    wait_for(cluster, "/api/v1/namespaces/default/serviceaccounts/default", bool)  # pods need it
    if port:
        assert ask(cluster, "POST", "/api/v1/nodes", {"metadata": {"name": "n"}}).status == 201
        status = {"addresses": [{"type": "InternalIP", "address": "127.0.0.1"}]}
        ends = {"daemonEndpoints": {"kubeletEndpoint": {"Port": port}}}
        assert ask(cluster, "PATCH", "/api/v1/nodes/n/status", {"status": {**status, **ends}}, MERGE).status == 200
    spec = {"nodeName": "n", "containers": [{"name": "c", "image": "web:1"}]}
    assert ask(cluster, "POST", PODS, {"metadata": {"name": "p"}, "spec": spec}).status == 201


@pytest.mark.parametrize("path", [f"{POD}/log", *SESSIONS])
def test_a_pod_whose_node_is_of_another_server(server: ApiServer, path: str) -> None:
    with server.cluster() as cluster:
        make_pod(cluster)
        found = ask(cluster, "GET" if path.endswith("log") else "POST", path, headers=UPGRADE)
        assert found.status == 404
        assert 'the pod\'s node "n" is not a node of this control plane' in found.json["message"]


@pytest.mark.parametrize("path", [f"{POD}/log", *SESSIONS])
def test_a_kubelet_at_this_host(server: ApiServer, path: str) -> None:
    with server.cluster() as cluster:
        make_pod(cluster, server.port)
        found = ask(cluster, "GET" if path.endswith("log") else "POST", path, headers=UPGRADE)
        assert found.status == 500
        assert "a control plane may not call this address (--control-planes-reach)" in found.json["message"]


@pytest.mark.parametrize("kubelet", [401, 403], indirect=True)
def test_a_kubelet_that_does_not_know_the_control_plane(near: ApiServer, kubelet: Kubelet) -> None:
    with near.cluster() as cluster:
        make_pod(cluster, kubelet.server_port)
        for path in (f"{POD}/log", *SESSIONS):
            headers = {} if path.endswith("log") else UPGRADE
            found = ask(cluster, "GET" if path.endswith("log") else "POST", path, headers=headers)
            assert found.status == 500, path
            assert "a control plane shows kubelets no certificate" in found.json["message"]
        tunnel = {"connection": "Upgrade", "upgrade": "websocket", "sec-websocket-version": "13"}
        tunnel |= {
            "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
            "sec-websocket-protocol": "SPDY/3.1+portforward.k8s.io",
        }
        assert ask(cluster, "GET", SESSIONS[-1], headers=tunnel).status == 500
    assert len(kubelet.paths) == 5


@pytest.mark.parametrize("kubelet", [200], indirect=True)
def test_a_kubelet_that_answers_everybody(near: ApiServer, kubelet: Kubelet) -> None:
    with near.cluster() as cluster:
        make_pod(cluster, kubelet.server_port)
        found = ask(cluster, "GET", f"{POD}/log")
        assert (found.status, found.body) == (200, b"a line")
    assert kubelet.paths == ["/containerLogs/default/p/c"]


def test_the_root_is_told_as_by_kube_apiserver(server: ApiServer) -> None:
    spec = {"nodeName": "nowhere", "containers": [{"name": "c", "image": "web:1"}]}
    wait_for(server, "/api/v1/namespaces/default/serviceaccounts/default", bool)
    assert raw(server, "POST", PODS, {"metadata": {"name": "p"}, "spec": spec}).status == 201
    assert raw(server, "GET", f"{POD}/log").json["message"] == 'pods "nowhere" not found'
    raw(server, "DELETE", POD)
