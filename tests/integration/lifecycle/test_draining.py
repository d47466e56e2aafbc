"""A server that is told to stop first fails /readyz, and still answers all requests meanwhile."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import ssl
import threading
import time
from http.client import HTTPResponse, HTTPSConnection

import pytest

from apiserver_gateway.testing import ApiServer, api_server
from tests.integration.server.client import ask, connect
from tests.limits import Withheld, at_most
from tests.until import until

MAPS = "/api/v1/namespaces/default/configmaps"
DELAY = 2.0


def get(connection: HTTPSConnection, server: ApiServer, path: str) -> HTTPResponse:
    connection.request("GET", path, headers={"Authorization": f"Bearer {server.token}"})
    answer = connection.getresponse()
    answer.read()
    return answer


def test_who_asks_while_the_server_drains_is_answered_and_sent_elsewhere() -> None:
    with api_server("--shutdown-delay-duration=90s") as server, contextlib.closing(connect(server)) as kept:
        assert get(kept, server, MAPS).getheader("connection") is None
        os.kill(server.pid, signal.SIGTERM)
        until(lambda: ask(server, "GET", "/readyz").status != 200)
        assert ask(server, "GET", "/livez").status == 200
        answer = get(kept, server, MAPS)
        assert (answer.status, answer.getheader("connection")) == (200, "close")
        assert ask(server, "POST", MAPS, {"metadata": {"name": "late"}}).status == 201
        server.kill()  # its shutdown would take long


def test_watches_end_one_after_the_other_while_the_server_drains() -> None:
    ends: list[float] = []

    def watch(server: ApiServer) -> None:
        with contextlib.closing(connect(server)) as connection:
            headers = {"Authorization": f"Bearer {server.token}"}
            connection.request("GET", f"{MAPS}?watch=1&resourceVersion=0", headers=headers)
            answer = connection.getresponse()
            began.release()
            answer.read()  # raises if the stream is cut off
            ends.append(time.monotonic())

    began = threading.Semaphore(0)
    with api_server(f"--shutdown-delay-duration={DELAY:g}s") as server:
        watches = [threading.Thread(target=watch, args=(server,)) for _ in range(12)]
        for each in watches:
            each.start()
        for _ in watches:
            assert began.acquire(timeout=60)
        withheld, told = Withheld(), time.monotonic()
        os.kill(server.pid, signal.SIGTERM)
        for each in watches:
            each.join(60)
        late = withheld.until_now()
    assert len(ends) == len(watches)
    assert min(ends) - told > 0.4 * DELAY
    at_most(max(ends) - told, DELAY + 1 + late)
    assert max(ends) - min(ends) + late > 0.2, "they ended all at once"


def test_requests_after_the_delay_are_told_to_come_back_while_others_finish() -> None:
    flags = ("--shutdown-delay-duration=1s", "--shutdown-send-retry-after")
    with api_server(*flags) as server, contextlib.closing(connect(server)) as slow:
        # a request without its body delays the shutdown
        slow.putrequest("POST", MAPS)
        slow.putheader("Authorization", f"Bearer {server.token}")
        slow.putheader("Content-Type", "application/json")
        slow.putheader("Content-Length", "26")
        slow.endheaders()
        slow.send(b'{"metadata":')
        os.kill(server.pid, signal.SIGTERM)
        deadline = time.monotonic() + 60
        while (answer := ask(server, "GET", MAPS)).status != 429:
            assert time.monotonic() < deadline
        assert (answer.headers["retry-after"], answer.headers["connection"]) == ("5", "close")
        slow.send(b'{"name":"slow"}')
        assert slow.getresponse().status in (400, 201)


def test_plain_http_is_told_that_this_is_https() -> None:
    with api_server() as server, socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        said = b""
        while piece := connection.recv(4096):
            said += piece
    head, _, body = said.partition(b"\r\n\r\n")
    assert head == b"HTTP/1.0 400 Bad Request"
    assert body == b"Client sent an HTTP request to an HTTPS server.\n"


def test_the_oldest_version_of_tls_can_be_said() -> None:
    with api_server("--tls-min-version=VersionTLS13") as server:
        context = ssl.create_default_context(cafile=str(server.ca_file))
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        with pytest.raises(ssl.SSLError):
            HTTPSConnection("127.0.0.1", server.port, context=context).request("GET", "/livez")
        assert ask(server, "GET", "/livez").status == 200


def test_ciphers_of_tls_1_2_can_be_said() -> None:
    chosen = "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"
    with api_server(f"--tls-cipher-suites={chosen}") as server:
        context = ssl.create_default_context(cafile=str(server.ca_file))
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        with contextlib.closing(HTTPSConnection("127.0.0.1", server.port, context=context)) as connection:
            connection.request("GET", "/livez")
            assert isinstance(connection.sock, ssl.SSLSocket)
            cipher = connection.sock.cipher()
            assert cipher is not None and "AES256-GCM" in cipher[0]
