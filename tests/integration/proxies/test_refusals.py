"""Errors of kubelets, and requests in a wrong form: the answers that clients get."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from apiserver_gateway.testing import ApiServer, wait_for
from gateway.credentials.certificates import ensure_certificates, server_context
from tests.forked import api_server
from tests.integration.proxies.test_tunnels import POD, prepared
from tests.integration.server.client import ask

VERSION_5 = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "c2NlbmFyaW8gb2YgdGVzdA==",
    "Sec-WebSocket-Protocol": "v5.channel.k8s.io",
}


@pytest.fixture(scope="module")
def server() -> Iterator[ApiServer]:
    with api_server() as made:
        wait_for(made, "/api/v1/namespaces/default/serviceaccounts/default", bool)  # pods need it
        yield made


def test_a_redirect_of_a_log_is_refused_with_the_place_as_the_kubelet_says_it(
    server: ApiServer, tmp_path: Path
) -> None:
    files = ensure_certificates(tmp_path, ["127.0.0.1"])

    async def redirect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 301 Moved Permanently\r\nlocation: /there\r\ncontent-length: 0\r\n\r\n")
        await writer.drain()
        writer.close()

    async def run() -> None:
        secured = server_context(files.certificate, files.key)
        listening = await asyncio.start_server(redirect, "127.0.0.1", 0, ssl=secured)
        await asyncio.to_thread(prepared, server, listening.sockets[0].getsockname()[1])
        answer = await asyncio.to_thread(ask, server, "GET", f"{POD}/log")
        assert (answer.status, answer.json["message"]) == (500, 'Get "/there": redirects forbidden')
        asked = await asyncio.to_thread(ask, server, "POST", f"{POD}/exec?command=a&stdout=1", headers=VERSION_5)
        assert (asked.status, asked.body) == (405, b"bad method")  # a WebSocket handshake is a GET
        listening.close()

    asyncio.run(run())
