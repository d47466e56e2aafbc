"""A client that reads late gets all data, although the server has closed the connection."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from apiserver_gateway.testing import ApiServer, wait_for
from gateway.credentials.certificates import ensure_certificates, server_context
from tests.hasty import hasty
from tests.integration.proxies.test_tunnels import HEAD, POD, Kubelet, prepared
from tests.integration.server.client import ask

LARGE = "x" * 900_000
MUCH, LITTLE = 12 << 20, 500_000  # bytes: more than socket buffers hold, and about what they hold


@pytest.fixture(scope="module")
def server() -> Iterator[ApiServer]:
    """A server that checks without a delay whether a connection that it has closed can be dropped."""
    with hasty({"gateway.http.connection_end.FAREWELL": 0.0}) as made:
        wait_for(made, "/api/v1/namespaces/default/serviceaccounts/default", bool)  # pods need it
        yield made


def connected(server: ApiServer) -> ssl.SSLSocket:
    """A client whose socket has a small receive buffer."""
    trust = ssl.create_default_context(cafile=str(server.ca_file))
    trust.check_hostname = False
    plain = socket.socket()
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
    plain.settimeout(60)
    plain.connect(("127.0.0.1", server.port))
    return trust.wrap_socket(plain)


def test_an_answer_after_which_the_server_closes(server: ApiServer) -> None:
    for number in range(12):
        large = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"large-{number}"}, "data": {"a": LARGE}}
        assert ask(server, "POST", "/api/v1/namespaces/default/configmaps", large).status == 201
    with connected(server) as client:
        head = f"host: x\r\nconnection: close\r\nauthorization: Bearer {server.token}\r\n\r\n"
        client.sendall(f"GET /api/v1/configmaps HTTP/1.1\r\n{head}".encode())
        said = b""
        while data := client.recv(1 << 20):
            said += data
    assert said.startswith(b"HTTP/1.1 200 OK") and said.endswith(b"\r\n0\r\n\r\n")


@pytest.mark.parametrize(("size", "speaks"), [(MUCH, False), (LITTLE, True)])
def test_a_session(server: ApiServer, tmp_path: Path, size: int, speaks: bool) -> None:
    """The server still has data when the kubelet has closed; what the client sends then must not destroy the rest."""
    files = ensure_certificates(tmp_path, ["127.0.0.1"])

    def received(tunnel: ssl.SSLSocket) -> int:
        head, _, first = tunnel.recv(65536).partition(b"\r\n\r\n")
        assert b" 101 " in head
        size = len(first)
        while data := tunnel.recv(65536):
            size += len(data)
            if speaks:
                tunnel.sendall(b"late")
        return size

    async def run() -> None:
        kubelet = Kubelet(b"x" * size)
        secured = server_context(files.certificate, files.key)
        listening = await asyncio.start_server(kubelet.answer, "127.0.0.1", 0, ssl=secured)
        await asyncio.to_thread(prepared, server, listening.sockets[0].getsockname()[1])
        with await asyncio.to_thread(connected, server) as tunnel:
            tunnel.sendall(HEAD.format(path=f"{POD}/attach?stdout=1", token=server.token).encode())
            if speaks:
                await kubelet.left.wait()
            assert await asyncio.to_thread(received, tunnel) == size
        listening.close()

    asyncio.run(run())
