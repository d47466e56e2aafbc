"""What of a request goes on to an extension API server, and a kubelet that floods who asked for it."""

from __future__ import annotations

import base64
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from apiserver_gateway.testing import ApiServer
from gateway.credentials.certificates import ensure_certificates, server_context
from gateway.proxies import spdy
from tests.hostile.backend import OK, ROOT, Backend, once
from tests.hostile.probe import held_at_most, memory_returns
from tests.hostile.wire import Wire
from tests.integration.proxies.test_tunnels import prepared

LIMIT = 0.1
FRESH = "token-of-ada"
SWITCH = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n"


@pytest.fixture(scope="module")
def server_flags(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """Front proxies name users in headers of further names, and there is one user more."""
    directory = tmp_path_factory.mktemp("front")
    (directory / "tokens.csv").write_text(f'{FRESH},ada,1,"system:masters"\n')
    return (
        f"--token-auth-file={directory / 'tokens.csv'}",
        f"--requestheader-client-ca-file={ensure_certificates(directory, ['front']).ca}",
        "--requestheader-username-headers=X-Remote-User,X-My-User",
        "--requestheader-uid-headers=X-Remote-Uid,X-My-Uid",
        "--requestheader-group-headers=X-Remote-Group,X-My-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-,X-My-Extra-",
    )


PINGS = spdy.Session().pong(spdy.Frame(spdy.PING, 0, b"\0\0\0\2", False)) * 20_000
EXEC = "/api/v1/namespaces/default/pods/p/exec?command=x&container=c&stdout=true"
SOCKET = ("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {'A' * 22}==")


@pytest.fixture
def kubelet(server: ApiServer, tmp_path: Path) -> Iterator[Backend]:
    """The kubelet of a pod, which answers exec by `answer`."""
    files, made = ensure_certificates(tmp_path, ["127.0.0.1"]), Backend()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        context = server_context(files.certificate, files.key)
        threading.Thread(target=made.serve, args=(listener, context), daemon=True).start()
        prepared(server, listener.getsockname()[1])
        yield made


@pytest.mark.parametrize("frames", [PINGS, spdy.Session().data(1, b"") * 20_000], ids=["pings", "empty data"])
def test_a_kubelet_that_floods_an_exec_holds_nobody(server: ApiServer, kubelet: Backend, frames: bytes) -> None:
    upgraded = b"Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\n"

    def flood(connection: ssl.SSLSocket) -> None:
        connection.sendall(b"HTTP/1.1 101 Switching Protocols\r\n" + upgraded)
        for _ in range(10):
            connection.sendall(frames)

    kubelet.answer = flood
    with memory_returns(server), held_at_most(server, LIMIT), Wire(server) as wire:
        wire.request(f"GET {EXEC}", *SOCKET, "Sec-WebSocket-Protocol: v5.channel.k8s.io")
        assert b" 101 " in wire.socket.recv(1000)
        assert kubelet.ended.acquire(timeout=60)


SPENT = ("X-My-User: root", "x-my_group: system:masters", "X-My-Uid: 7", "X-My-Extra-Scopes: all", "X-My-Other: kept")


def test_headers_that_extension_servers_trust_are_nobodys_but_the_servers(server: ApiServer, backend: Backend) -> None:
    """Of a user whose token comes for the first time, and of one who is known already."""
    backend.answer = once(OK + b"Content-Length: 2\r\n\r\nok")
    backend.heads.clear()
    for _ in range(2):
        with Wire(server) as wire:
            wire.request(f"GET {ROOT}/things", f"Authorization: Bearer {FRESH}", *SPENT, token=False)
            assert wire.reply().status == 200
    assert len(backend.heads) == 2
    for head in backend.heads:
        lines = head.lower().split(b"\r\n")
        assert b"x-remote-user: ada" in lines and b"x-my-other: kept" in lines
        named = [line for line in lines if line.startswith((b"x-my-", b"x-my_")) and not line.startswith(b"x-my-other")]
        assert named == []


def test_a_token_among_the_subprotocols_opens_a_watch_and_goes_no_further(server: ApiServer, backend: Backend) -> None:
    shown = f"base64url.bearer.authorization.k8s.io.{base64.urlsafe_b64encode(FRESH.encode()).decode().rstrip('=')}"
    protocols = f"Sec-WebSocket-Protocol: {shown}, v4.base64.binary.k8s.io"
    backend.answer = once(SWITCH + b"bye")
    backend.heads.clear()
    for _ in range(2):  # the second time the user is known
        with Wire(server) as wire:
            wire.request("GET /api/v1/namespaces?watch=1&timeoutSeconds=1", *SOCKET, protocols, token=False)
            assert wire.socket.recv(1000).startswith(b"HTTP/1.1 101 ")
        with Wire(server) as wire:
            wire.request(f"GET {ROOT}/things", *SOCKET, protocols, token=False)
            assert wire.socket.recv(1000).startswith(b"HTTP/1.1 101 ")
    assert len(backend.heads) == 2
    for head in backend.heads:
        assert b"bearer" not in head.lower() and b"v4.base64.binary.k8s.io" in head
