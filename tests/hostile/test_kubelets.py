"""Kubelets that answer without end, in tiny pieces, or nonsense: the client gets what comes, and nobody is held."""

from __future__ import annotations

import contextlib
import http.client
import ssl
import struct
from collections.abc import Callable, Iterator

import pytest

from apiserver_gateway.testing import ApiServer
from tests.hostile.hook import Hook, serving
from tests.hostile.probe import held_at_most, memory_returns
from tests.hostile.wire import Wire
from tests.integration.server.client import ask

POD = "/api/v1/namespaces/default/pods/p"
LIMIT = 0.1
ENOUGH = 2 << 20  # bytes of the kubelet's that the client reads
OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
SWITCHING = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n"
SPDY = SWITCHING + b"X-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\n"
WEBSOCKET = ("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13")
KEY = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="


@pytest.fixture(scope="module")
def kubelet(module_server: ApiServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hook]:
    """A kubelet, and a pod that is bound to its node."""
    with serving(tmp_path_factory.mktemp("kubelet")) as made:
        server = module_server
        assert ask(server, "POST", "/api/v1/nodes", {"metadata": {"name": "n"}}).status == 201
        node = ask(server, "GET", "/api/v1/nodes/n").json
        node["status"]["addresses"] = [{"type": "InternalIP", "address": "127.0.0.1"}]
        node["status"]["daemonEndpoints"] = {"kubeletEndpoint": {"Port": made.port}}
        assert ask(server, "PUT", "/api/v1/nodes/n/status", node).status == 200
        spec = {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]}
        pod = {"metadata": {"name": "p"}, "spec": spec}
        assert ask(server, "POST", "/api/v1/namespaces/default/pods", pod).status == 201
        yield made


def endless(piece: bytes, start: bytes) -> Callable[[ssl.SSLSocket], None]:
    """Answers `start`, and then a piece again and again, in writes of any size."""

    def answer(connection: ssl.SSLSocket) -> None:
        connection.sendall(start)
        many = piece * max(1, 65536 // len(piece))
        while True:
            connection.sendall(many)

    return answer


def once(said: bytes) -> Callable[[ssl.SSLSocket], None]:
    return lambda connection: connection.sendall(said)


def data(stream: int, content: bytes) -> bytes:
    return struct.pack(">I", stream) + b"\0" + len(content).to_bytes(3) + content


def control(kind: int, content: bytes) -> bytes:
    return struct.pack(">HH", 0x8003, kind) + b"\0" + len(content).to_bytes(3) + content


LOGS = {
    "one byte a chunk": endless(b"1\r\nx\r\n", CHUNKED),
    "chunks with extensions": endless(b"1;a=%b\r\nx\r\n" % (b"e" * 200), CHUNKED),
    "no length": endless(b"\n", OK + b"\r\n"),
    "an endless head": endless(b"a: b\r\n", OK),
    "an endless line of a head": endless(b"a", OK + b"a: "),
    "an endless chunk's size": endless(b"0", CHUNKED),
    "endless trailers": endless(b"a: b\r\n", CHUNKED + b"0\r\n"),
    "an endless error": endless(b"x", b"HTTP/1.1 500 Internal Server Error\r\n\r\n"),
    "an endless error in chunks": endless(b"1\r\nx\r\n", CHUNKED.replace(b"200 OK", b"403 Forbidden")),
    "endless provisional answers": endless(b"HTTP/1.1 100 Continue\r\n\r\n", b""),
    "a tunnel": endless(b"x", SPDY),
    "a negative length": once(OK + b"Content-Length: -1\r\n\r\nx"),
    "two lengths": once(OK + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx"),
    "no answer": once(b""),
}

# stream 1 is the error stream, 3 is standard output
SESSIONS = {
    "one byte a frame": endless(data(3, b"x"), SPDY),
    "empty frames": endless(data(3, b""), SPDY),
    "large frames": endless(data(3, b"x" * (1 << 20)), SPDY),
    "an endless outcome": endless(data(1, b"x" * 1000), SPDY),
    "frames of no stream": endless(data(99, b"x"), SPDY),
    "new streams": endless(control(1, struct.pack(">IIH", 2, 0, 0) + b"x" * 40), SPDY),
    "pings": endless(control(6, b"ping"), SPDY),
    "windows": endless(control(9, b"\0" * 8), SPDY),
    "headers that unpack to very much": endless(control(8, struct.pack(">I", 3) + b"\x78\xbb" + b"\0" * 60), SPDY),
    "a frame that is too large": once(SPDY + struct.pack(">I", 3) + b"\0\xff\xff\xff"),
    "half a frame": once(SPDY + data(3, b"x" * 100)[:50]),
    "nonsense": endless(b"\xff", SPDY),
    "an endless head": endless(b"a: b\r\n", SWITCHING),
    "an endless refusal": endless(b"x", b"HTTP/1.1 500 Internal Server Error\r\n\r\n"),
}


def read(wire: Wire, most: int = ENOUGH) -> int:
    """The bytes that come until the end, or until there are enough."""
    found = 0
    with contextlib.suppress(OSError, http.client.HTTPException):
        while found < most and (piece := wire.socket.recv(65536)):
            found += len(piece)
    return found


@pytest.mark.parametrize("answer", LOGS)
def test_logs(server: ApiServer, kubelet: Hook, answer: str) -> None:
    kubelet.answer = LOGS[answer]
    with memory_returns(server), held_at_most(server, LIMIT), Wire(server, 10.0) as wire:
        wire.request(f"GET {POD}/log", "Connection: close")
        assert read(wire) > 0


@pytest.mark.parametrize("version", ["v5.channel.k8s.io", "v4.channel.k8s.io"])
@pytest.mark.parametrize("answer", SESSIONS)
def test_commands(server: ApiServer, kubelet: Hook, answer: str, version: str) -> None:
    kubelet.answer = SESSIONS[answer]
    with memory_returns(server), held_at_most(server, LIMIT), Wire(server, 3.0) as wire:
        path = f"GET {POD}/exec?command=a&stdout=true"
        wire.request(path, *WEBSOCKET, KEY, f"Sec-WebSocket-Protocol: {version}")
        read(wire, ENOUGH if version.startswith("v4") or "byte" not in answer else ENOUGH // 8)


def test_ports(server: ApiServer, kubelet: Hook) -> None:
    kubelet.answer = endless(data(3, b"x"), SPDY)
    head = ("Connection: Upgrade", "Upgrade: SPDY/3.1", "X-Stream-Protocol-Version: portforward.k8s.io")
    with memory_returns(server), held_at_most(server, LIMIT), Wire(server) as wire:
        wire.request(f"POST {POD}/portforward?ports=80", *head)
        assert read(wire) >= ENOUGH
