"""Many tunnels through upgraded proxy requests at once, and how either side ends them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from apiserver_gateway.testing import ApiServer, wait_for
from gateway.credentials.certificates import ensure_certificates, server_context
from tests.forked import api_server
from tests.integration.server.client import ask
from tests.until import until

MANY = 1000
MUCH = 6 << 20
POD = "/api/v1/namespaces/default/pods/p"
HEAD = (
    "GET {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\nconnection: Upgrade\r\nupgrade: echo/1\r\n\r\n"
)


@pytest.fixture(scope="module")
def server() -> Iterator[ApiServer]:
    with api_server() as made:
        wait_for(made, "/api/v1/namespaces/default/serviceaccounts/default", bool)  # pods need it
        yield made


class Kubelet:
    """Upgrades each connection, and then returns what it gets, unless `echo` is False. With `parting` it sends that and
    closes. Else it never closes a connection first.
    """

    def __init__(self, parting: bytes = b"", *, echo: bool = True) -> None:
        self.open, self.got, self._parting, self._echo = 0, 0, parting, echo
        self.left = asyncio.Event()  # set once a connection has ended

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: echo/1\r\n\r\n")
        self.open += 1
        if self._parting:
            writer.write(self._parting)
            writer.close()
        try:
            while data := await reader.read(65536):
                self.got += len(data)
                if self._echo:
                    writer.write(data)
                    await writer.drain()
        except ConnectionError:
            pass
        finally:
            self.open -= 1
            self.left.set()
            writer.close()


def prepared(server: ApiServer, port: int) -> None:
    """Makes a node with this host's address, and a pod on it."""
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
    ask(server, "POST", "/api/v1/nodes", node)
    addresses = [{"type": "InternalIP", "address": "127.0.0.1"}]
    status = {"status": {"addresses": addresses, "daemonEndpoints": {"kubeletEndpoint": {"Port": port}}}}
    merge = {"Content-Type": "application/merge-patch+json"}
    assert ask(server, "PATCH", "/api/v1/nodes/n/status", status, headers=merge).status == 200
    spec = {"nodeName": "n", "containers": [{"name": "c", "image": "web:1"}]}
    ask(
        server,
        "POST",
        "/api/v1/namespaces/default/pods",
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec},
    )


async def opened(server: ApiServer, trust: ssl.SSLContext) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port, ssl=trust)
    writer.write(HEAD.format(path=f"{POD}/exec?command=x&stdout=1", token=server.token).encode() + b"early")
    assert b" 101 " in await reader.readuntil(b"\r\n\r\n")
    assert await reader.readexactly(5) == b"early"
    return reader, writer


def test_many_tunnels_carry_bytes_and_end_with_their_clients(
    server: ApiServer, tmp_path_factory: pytest.TempPathFactory
) -> None:

    files = ensure_certificates(tmp_path_factory.mktemp("kubelet"), ["127.0.0.1"])
    trust = ssl.create_default_context(cafile=str(server.ca_file))
    trust.check_hostname = False

    async def run() -> None:
        kubelet = Kubelet()
        secured = server_context(files.certificate, files.key)
        listening = await asyncio.start_server(kubelet.answer, "127.0.0.1", 0, ssl=secured)
        await asyncio.to_thread(prepared, server, listening.sockets[0].getsockname()[1])
        tunnels = []
        for _ in range(MANY // 20):
            tunnels += await asyncio.gather(*(opened(server, trust) for _ in range(20)))
        assert kubelet.open == MANY
        payload = bytes(range(256)) * 1024
        for reader, writer in tunnels[:10]:
            writer.write(payload)
            assert await asyncio.wait_for(reader.readexactly(len(payload)), 60) == payload
        for _, writer in tunnels:
            writer.transport.abort()
        async with asyncio.timeout(60):
            while kubelet.open:
                await asyncio.sleep(0.05)
        listening.close()

    asyncio.run(run())
    assert ask(server, "GET", POD).status == 200


def test_what_was_said_before_the_end_comes_whole(server: ApiServer, tmp_path: Path) -> None:
    """In any amount, and at any speed of the reader."""
    files = ensure_certificates(tmp_path, ["127.0.0.1"])
    trust = ssl.create_default_context(cafile=str(server.ca_file))
    trust.check_hostname = False

    async def run() -> int:
        secured = server_context(files.certificate, files.key)
        listening = await asyncio.start_server(Kubelet(b"x" * MUCH).answer, "127.0.0.1", 0, ssl=secured)
        await asyncio.to_thread(prepared, server, listening.sockets[0].getsockname()[1])
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port, ssl=trust)
        path = f"{POD}/attach?stdout=1"
        writer.write(HEAD.format(path=path, token=server.token).encode())
        assert b" 101 " in await reader.readuntil(b"\r\n\r\n")
        size = 0
        while data := await reader.read(32 << 10):
            size += len(data)
            await asyncio.sleep(0.001)  # a slow reader
        writer.close()
        listening.close()
        return size

    assert asyncio.run(run()) == MUCH


def half_closed(server: ApiServer, kubelet: Kubelet, with_goodbye: bool) -> None:
    """Sends much through a tunnel, closes the sending half, and reads to the end, which must come by itself."""
    trust = ssl.create_default_context(cafile=str(server.ca_file))
    trust.check_hostname = False
    with trust.wrap_socket(socket.create_connection(("127.0.0.1", server.port), 60)) as tunnel:
        tunnel.sendall(HEAD.format(path=f"{POD}/attach?stdin=1", token=server.token).encode())
        assert b" 101 " in tunnel.recv(65536)
        tunnel.sendall(b"w" * MUCH)
        if with_goodbye:
            tunnel.unwrap().close()  # waits for the close_notify of the other side
            return
        until(lambda: kubelet.got)  # data in flight may be lost when the connection breaks
        with socket.socket(fileno=os.dup(tunnel.fileno())) as same:
            same.shutdown(socket.SHUT_WR)
        with contextlib.suppress(ssl.SSLEOFError):
            assert tunnel.recv(1) == b""


@pytest.mark.parametrize("with_goodbye", [True, False])
def test_a_client_that_says_no_more_ends_the_tunnel(server: ApiServer, tmp_path: Path, with_goodbye: bool) -> None:
    """As in kube-apiserver: when one half is closed, the whole tunnel ends; with TLS, after a close_notify and all
    data.
    """
    files = ensure_certificates(tmp_path, ["127.0.0.1"])

    async def run() -> None:
        kubelet = Kubelet(echo=False)
        secured = server_context(files.certificate, files.key)
        listening = await asyncio.start_server(kubelet.answer, "127.0.0.1", 0, ssl=secured)
        await asyncio.to_thread(prepared, server, listening.sockets[0].getsockname()[1])
        await asyncio.to_thread(half_closed, server, kubelet, with_goodbye)
        async with asyncio.timeout(60):
            await kubelet.left.wait()
        assert kubelet.got == MUCH if with_goodbye else kubelet.got > 0
        listening.close()

    asyncio.run(run())
