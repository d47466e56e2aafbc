"""The server's memory per idle watch."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from apiserver_gateway.testing import ApiServer, api_server, ask, snapshot, wait_for
from tests.integration.testing.test_pool import private_megabytes

MAPS = "/api/v1/namespaces/default/configmaps"
COUNT, SIZE = 100, 4000  # the number of ConfigMaps, and the bytes of each
WATCHES = 200
MOST = 0.045  # MB per watch: some 25 kB of it are TLS and its transport


@pytest.fixture(scope="module")
def server() -> Iterator[ApiServer]:
    """A server that has created its default objects, so that only watches take memory."""
    with api_server() as api:
        for number in range(COUNT):
            ask(api, "POST", MAPS, {"metadata": {"name": f"m-{number}"}, "data": {"k": "x" * SIZE}})
        wait_for(api, f"{MAPS}/kube-root-ca.crt", bool)
        wait_for(api, "/apis/rbac.authorization.k8s.io/v1/clusterroles/view", lambda role: bool(role.get("rules")))
        snapshot(api)  # waits until controllers are idle
        yield api


def watch(api: ApiServer, query: str, stack: ExitStack) -> ssl.SSLSocket:
    """A connection with a watch of all ConfigMaps of the namespace."""
    context = ssl.create_default_context(cafile=str(api.ca_file))
    plain = socket.create_connection(("127.0.0.1", api.port))
    opened = stack.enter_context(context.wrap_socket(plain, server_hostname="127.0.0.1"))
    request = f"GET {MAPS}?watch=1&{query} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {api.token}\r\n\r\n"
    opened.sendall(request.encode())
    return opened


def test_a_watch_keeps_neither_what_it_has_sent_nor_what_it_began_with(server: ApiServer) -> None:
    revision = ask(server, "GET", MAPS)["metadata"]["resourceVersion"]
    with ExitStack() as stack:
        for _ in range(20):  # fill caches
            assert b" 200 " in watch(server, f"resourceVersion={revision}", stack).recv(4096)
        before = private_megabytes(server.pid)
        for _ in range(WATCHES // 2):
            assert b" 200 " in watch(server, f"resourceVersion={revision}", stack).recv(4096)
        quiet = (private_megabytes(server.pid) - before) / (WATCHES // 2)
        assert quiet < MOST
        for _ in range(WATCHES // 2):
            opened, seen = watch(server, "resourceVersion=0", stack), b""
            while seen.count(b'"type":"ADDED"') < COUNT:
                seen += opened.recv(1 << 16)
        began = (private_megabytes(server.pid) - before) / (WATCHES // 2) - quiet
        assert began < 0.5, "1.1 where the state of 0.4 MB and what was sent of it stay"


def test_a_watch_whose_client_has_gone_leaves_nothing(server: ApiServer) -> None:
    """Reference cycles among a connection's objects would stay: collections skip objects of an older generation."""

    def come_and_go(rounds: int) -> float:
        for _ in range(rounds):
            with ExitStack() as stack:
                for number in range(60):
                    opened = watch(server, f"resourceVersion={revision}&timeoutSeconds=60", stack)
                    assert b" 200 " in opened.recv(4096)
                    if number % 4 == 0:  # a request that waits for the watch to end
                        opened.sendall(b"GET /version HTTP/1.1\r\nHost: a\r\n\r\n")
        return private_megabytes(server.pid)

    revision = ask(server, "GET", MAPS)["metadata"]["resourceVersion"]
    before = come_and_go(4)
    left = (come_and_go(12) - before) / (12 * 60)
    assert left < 0.002, "0.005 to 0.01 where what is decrypted is read by an object that its connection leads back to"
