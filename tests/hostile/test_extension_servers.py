"""Extension API servers that are silent, slow, endless or invalid, and clients that are so through them."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import ssl
import time
from collections.abc import Callable

import pytest

from apiserver_gateway.testing import ApiServer
from tests.hostile.backend import (
    AGGREGATED,
    GROUP,
    OK,
    ROOT,
    SERVICES,
    TWICE,
    Backend,
    asked,
    endless,
    nothing,
    once,
)
from tests.hostile.probe import held_at_most, memory_returns
from tests.hostile.wire import Wire
from tests.integration.customresources.definitions import MERGE
from tests.integration.server.client import ask
from tests.limits import within
from tests.until import until

LIMIT = 0.1
SWITCH = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n"
UPGRADE = ("Connection: Upgrade", "Upgrade: echo")


BROKEN = {
    "nothing": lambda _: None,
    "no HTTP": once(b"\x00\xff nonsense\r\n\r\n"),
    "half a head": once(OK + b"Content-Le"),
    "an endless head": endless(b"a: b\r\n", OK),
    "an endless line": endless(b"a" * 64, OK + b"x: "),
    "a head of megabytes": once(OK + b"x: " + b"a" * (4 << 20) + b"\r\nContent-Length: 0\r\n\r\n"),
    "a hundred thousand headers": once(OK + b"a: b\r\n" * 100_000 + b"Content-Length: 0\r\n\r\n"),
    "provisional answers without end": endless(b"HTTP/1.1 103 Early Hints\r\nx: y\r\n\r\n", b""),
    "two lengths": once(OK + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\nabc"),
    "a length that is none": once(OK + b"Content-Length: -5\r\n\r\nabc"),
}


@pytest.mark.parametrize("answer", BROKEN)
def test_nonsense_is_a_503(server: ApiServer, backend: Backend, answer: str) -> None:
    backend.answer = BROKEN[answer]
    with memory_returns(server), held_at_most(server, LIMIT):
        reply = asked(server, f"GET {ROOT}/things")
    assert reply.status == 503 and reply.body.startswith(b"error trying to reach service: ")


@pytest.mark.parametrize(
    "body", [b"Content-Length: 100\r\n\r\nhalf", b"Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n"]
)
def test_a_cut_answer_is_cut_for_the_client_too(server: ApiServer, backend: Backend, body: bytes) -> None:
    backend.answer = once(OK + body)
    with pytest.raises((http.client.HTTPException, OSError, ValueError)):
        reply = asked(server, f"GET {ROOT}/things")
        if len(reply.body) < 100:
            raise http.client.IncompleteRead(reply.body)


def test_an_answer_without_end_ends_with_its_client_and_holds_nobody(server: ApiServer, backend: Backend) -> None:
    backend.answer = endless(b"x" * 16, OK + b"\r\n")
    while backend.ended.acquire(blocking=False):
        pass
    with memory_returns(server), held_at_most(server, LIMIT):
        with Wire(server) as wire:
            wire.request(f"GET {ROOT}/things")
            assert wire.socket.recv(100).startswith(b"HTTP/1.1 200")
            time.sleep(1)  # the client does not read, so the server must not fetch more
            wire.close()
        assert backend.ended.acquire(timeout=60)


def test_slow_bodies_in_both_directions_hold_nobody(server: ApiServer, backend: Backend) -> None:
    def slowly(connection: ssl.SSLSocket) -> None:
        connection.sendall(OK + b"Content-Length: 20\r\n\r\n")
        for _ in range(20):
            connection.sendall(b"x")
            time.sleep(0.05)  # a slow server

    backend.answer = slowly
    with held_at_most(server, LIMIT):
        with Wire(server) as wire:
            wire.request(f"POST {ROOT}/things", "Content-Length: 200000")
            for _ in range(10):
                wire.offer(b"y" * 100)  # the answer may have ended meanwhile
                time.sleep(0.05)  # a slow client
        assert asked(server, f"GET {ROOT}/things").body == b"x" * 20


def test_what_comes_behind_an_answer_is_nobodys(server: ApiServer, backend: Backend) -> None:
    backend.answer = TWICE
    for _ in range(5):
        reply = asked(server, f"GET {ROOT}/things")
        assert (reply.status, reply.body) == (200, b"ok")


def test_no_request_is_smuggled(server: ApiServer, backend: Backend) -> None:
    hidden = b"GET /apis/hostile.example.com/v1/things/hidden HTTP/1.1\r\nHost: x\r\n\r\n"
    backend.answer = once(OK + b"Content-Length: 2\r\n\r\nok")
    for headers, body in (
        (("Content-Length: 6", "Transfer-Encoding: chunked"), b"0\r\n\r\n" + hidden),
        (("Content-Length: 0", f"Content-Length: {len(hidden)}"), hidden),
        (("Transfer-Encoding: chunked", "Transfer-Encoding: identity"), b"0\r\n\r\n" + hidden),
        (("Transfer-Encoding: xchunked",), b"0\r\n\r\n" + hidden),
        (("Transfer-Encoding : chunked",), b"0\r\n\r\n" + hidden),
        (("X: y\nTransfer-Encoding: chunked",), b"0\r\n\r\n" + hidden),
        (("Connection: Content-Length", f"Content-Length: {len(hidden)}"), hidden),
        (("Connection: Transfer-Encoding", "Transfer-Encoding: chunked"), b"0\r\n\r\n"),
        (("Upgrade: echo", "Connection: Upgrade", f"Content-Length: {len(hidden)}"), hidden),
    ):
        backend.heads.clear()
        with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
            asked(server, f"POST {ROOT}/things", *headers, body=body)
        for head in backend.heads:
            assert b"/hidden" not in head.split(b"\r\n")[0], headers
            lengths = [
                line for line in head.lower().split(b"\r\n") if line.startswith((b"content-length", b"transfer-"))
            ]
            assert len(lengths) <= 1, headers


@pytest.mark.parametrize("path", ["%0d%0aX-Remote-User:%20root", "%00", "%20HTTP/1.1%0d%0a%0d%0aGET%20/hidden"])
def test_no_header_comes_out_of_a_path(server: ApiServer, backend: Backend, path: str) -> None:
    backend.answer = once(OK + b"Content-Length: 2\r\n\r\nok")
    backend.heads.clear()
    asked(server, f"GET {ROOT}/things/{path}?q={path}")
    for head in backend.heads:
        assert len([line for line in head.split(b"\r\n") if line.lower().startswith(b"x-remote-user:")]) == 1
        line, *headers = head.split(b"\r\n")
        assert line.count(b" ") == 2 and not any(each.startswith(b"GET") for each in headers)


def test_a_tunnel_whose_client_has_said_all_ends(server: ApiServer, backend: Backend) -> None:
    def echo(connection: ssl.SSLSocket) -> None:
        connection.sendall(SWITCH)
        while data := connection.recv(1000):
            connection.sendall(data)

    backend.answer = echo
    while backend.ended.acquire(blocking=False):
        pass
    with Wire(server) as wire:
        wire.request(f"GET {ROOT}/things", *UPGRADE)
        assert b" 101 " in wire.socket.recv(1000)
        wire.send(b"hello")
        assert wire.socket.recv(100) == b"hello"
        plain = wire.socket.detach()
        with socket.socket(fileno=plain) as bare:
            bare.shutdown(socket.SHUT_WR)  # without a TLS close_notify
            assert backend.ended.acquire(timeout=60)


def test_a_tunnel_whose_server_has_gone_ends(server: ApiServer, backend: Backend) -> None:
    backend.answer = once(SWITCH + b"bye")
    with Wire(server) as wire:
        wire.request(f"GET {ROOT}/things", *UPGRADE)
        said = b""
        while data := wire.socket.recv(1000):
            said += data
    assert said.endswith(b"bye")


def test_a_tunnel_that_nobody_reads_holds_back_who_writes(server: ApiServer, backend: Backend) -> None:
    backend.answer = endless(b"x" * 16, SWITCH)
    while backend.ended.acquire(blocking=False):
        pass
    with memory_returns(server), held_at_most(server, LIMIT):
        with Wire(server) as wire:
            wire.request(f"GET {ROOT}/things", *UPGRADE)
            assert wire.socket.recv(10)
            time.sleep(1)  # the client does not read
            wire.close()
        assert backend.ended.acquire(timeout=60)


def large(resources: int, subresources: int, more: int = 0) -> tuple[Callable[[bytes], bytes], list[str]]:
    """Discovery of many resources that is another one each time; and the names of the first resources."""
    names: list[str] = []
    told = {"responseKind": {"kind": "K"}, "verbs": ["get"]}
    below = [{"subresource": f"s{number}", **told} for number in range(subresources)]

    def answer(path: bytes) -> bytes:
        if path.partition(b"?")[0] != b"/apis":
            return nothing(path)
        names.append(f"r{len(names)}x0")
        each = {**told, "scope": "Namespaced", "subresources": below, "more": "x" * more}
        listed = [{"resource": f"{names[-1][:-1]}{number}", **each} for number in range(resources)]
        items = [{"metadata": {"name": GROUP}, "versions": [{"version": "v1", "resources": listed}]}]
        found = {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "items": items}
        body = json.dumps(found, separators=(",", ":")).encode()
        return OK + b"Content-Type: %b\r\nContent-Length: %d\r\n\r\n%b" % (AGGREGATED.encode(), len(body), body)

    return answer, names


DISCOVERY = {"used": (2400, 9), "too many objects": (2600, 9), "too many": (20_000, 0), "too long": (2400, 9, 1500)}


@pytest.mark.parametrize("size", DISCOVERY)
def test_discovery_of_megabytes_that_changes_holds_nobody(server: ApiServer, backend: Backend, size: str) -> None:
    """It is read and compared in a thread; what has too many resources, or is too long, is of no use."""
    backend.discovery, names = large(*DISCOVERY[size])
    with held_at_most(server, LIMIT):
        for priority in (20, 21, 22):  # a change of the APIService has its discovery read again
            asked_before = len(names)
            spec = {"spec": {"versionPriority": priority}}
            answer = ask(server, "PATCH", f"{SERVICES}/v1.{GROUP}", spec, headers=MERGE)
            assert answer.status == 200, answer.body
            until(lambda before=asked_before: len(names) > before)
        expected = f'"{names[-1]}"' if size == "used" else '"freshness":"Stale"'
        until(lambda: expected in ask(server, "GET", "/apis", headers={"Accept": AGGREGATED}).body.decode())


def test_a_server_that_is_this_one_ends_the_loop(server: ApiServer, backend: Backend) -> None:
    """The Service of an available APIService is made to lead to this server itself: requests do not loop for ever."""
    service = "/api/v1/namespaces/default/services/ext"
    own = {"insecureSkipTLSVerify": True, "caBundle": None}
    place = {"namespace": "default", "name": "ext", "port": server.port}
    changed = {"spec": {**own, "service": place}}
    ports = {"spec": {"ports": [{"port": server.port}]}}
    try:
        with memory_returns(server), held_at_most(server, LIMIT):
            assert ask(server, "PATCH", service, ports, headers=MERGE).status == 200
            assert ask(server, "PATCH", f"{SERVICES}/v1.{GROUP}", changed, headers=MERGE).status == 200
            with within(10):
                status = asked(server, f"GET {ROOT}/things").status
                # 401: the APIService is still available, and the front proxy's CA is not in this server's
                # --client-ca-file
                assert status in (401, 403, 503, 508)
    finally:
        back = {"spec": {"insecureSkipTLSVerify": None, "caBundle": backend.bundle, "service": {"port": backend.port}}}
        ask(server, "PATCH", service, {"spec": {"ports": [{"port": backend.port}]}}, headers=MERGE)
        ask(server, "PATCH", f"{SERVICES}/v1.{GROUP}", back, headers=MERGE)
