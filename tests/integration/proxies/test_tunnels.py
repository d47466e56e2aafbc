"""Many tunnels at once through an upgraded proxy request, and their end with either side."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterator

import pytest

from apiserver_gateway.testing import ApiServer, api_server
from gateway.credentials.certificates import ensure_certificates, server_context
from tests.integration.server.client import ask

MANY = 200
POD = "/api/v1/namespaces/default/pods/p"
HEAD = (
    "GET {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\nconnection: Upgrade\r\nupgrade: echo/1\r\n\r\n"
)


@pytest.fixture(scope="module")
def server() -> Iterator[ApiServer]:
    with api_server() as made:
        yield made


class Kubelet:
    """Answers each request with an upgrade, and then with what it gets."""

    def __init__(self) -> None:
        self.open = 0

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: echo/1\r\n\r\n")
        self.open += 1
        try:
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            self.open -= 1
            writer.close()


def prepared(server: ApiServer, port: int) -> None:
    """A node at this host, and a pod on it."""
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
            assert await asyncio.wait_for(reader.readexactly(len(payload)), 20) == payload
        for _, writer in tunnels:
            writer.transport.abort()
        async with asyncio.timeout(20):
            while kubelet.open:
                await asyncio.sleep(0.05)
        listening.close()

    asyncio.run(run())
    assert ask(server, "GET", POD).status == 200
