"""Proxied requests leave file descriptors for other requests, and places for other users."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

from apiserver_gateway.testing import ApiServer, wait_for
from gateway.credentials.certificates import ensure_certificates, server_context
from gateway.outbound.places import SHARE, SHARE_OF_USER
from tests.integration.proxies.test_refusals import VERSION_5
from tests.integration.proxies.test_tunnels import POD, Kubelet, prepared
from tests.integration.server.client import ask

DESCRIPTORS = 400
OF_USER = DESCRIPTORS // SHARE // SHARE_OF_USER
ECHO = {"connection": "Upgrade", "upgrade": "echo/1"}
EXEC = f"{POD}/exec?command=x&stdout=1"


class PoorServer(ApiServer):
    """A server with a low limit of file descriptors."""

    def _command(self, control: int) -> list[str]:
        return ["prlimit", f"--nofile={DESCRIPTORS}:{DESCRIPTORS}", *super()._command(control)]


async def asked(server: ApiServer, token: str, trust: ssl.SSLContext, headers: dict[str, str] = ECHO) -> Session:
    """Asks for a session. Returns its connection and the head of the answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port, ssl=trust)
    lines = [f"GET {EXEC} HTTP/1.1", "host: x", f"authorization: Bearer {token}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    writer.write("\r\n".join([*lines, "", ""]).encode())
    return Session(reader, writer, await reader.readuntil(b"\r\n\r\n"))


class Session:
    """A connection that may have been upgraded."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes) -> None:
        self.reader, self._writer, self.head = reader, writer, head.lower()

    def end(self) -> None:
        self._writer.transport.abort()


def test_one_user_has_a_part_of_the_places_and_all_else_goes_on(tmp_path: Path) -> None:
    files = ensure_certificates(tmp_path / "kubelet", ["127.0.0.1"])
    tokens = tmp_path / "tokens.csv"
    tokens.write_text("alices-token,alice,alice\n")
    server = PoorServer(tmp_path, (f"--token-auth-file={tokens}", "--authorization-mode=AlwaysAllow"))
    server.start()
    try:
        wait_for(server, "/api/v1/namespaces/default/serviceaccounts/default", bool)  # pods need it
        trust = ssl.create_default_context(cafile=str(server.ca_file))
        trust.check_hostname = False

        async def run() -> None:
            kubelet = Kubelet()
            secured = server_context(files.certificate, files.key)
            listening = await asyncio.start_server(kubelet.answer, "127.0.0.1", 0, ssl=secured)
            await asyncio.to_thread(prepared, server, listening.sockets[0].getsockname()[1])
            sessions = [await asked(server, "alices-token", trust) for _ in range(OF_USER)]
            assert all(b" 101 " in each.head for each in sessions) and kubelet.open == OF_USER
            refused = await asked(server, "alices-token", trust)
            assert b" 429 " in refused.head and b"\r\nretry-after: 1\r\n" in refused.head
            message = f"{OF_USER} requests of yours are passed on to other servers, as many as may be: end some of them"
            answer = await asyncio.to_thread(ask, server, "GET", f"{POD}/log", token="alices-token")
            assert (answer.status, answer.json["reason"]) == (429, "TooManyRequests")
            assert message in answer.json["message"]
            outcome = await asked(server, "alices-token", trust, VERSION_5)
            assert b" 101 " in outcome.head  # the refusal comes through the WebSocket, as a kubelet's would
            assert message.encode() in await outcome.reader.readuntil(b"as many as may be: end some of them")
            answer = await asyncio.to_thread(ask, server, "GET", POD, token="alices-token")
            assert answer.status == 200
            others = await asked(server, server.token, trust)
            assert b" 101 " in others.head
            sessions.pop().end()
            async with asyncio.timeout(60):
                while b" 101 " not in (again := await asked(server, "alices-token", trust)).head:
                    again.end()
            for each in (*sessions, others, again, outcome, refused):
                each.end()
            listening.close()

        asyncio.run(run())
    finally:
        server.kill()
