"""Requests that Go's net/http, or kube-apiserver, reads in another way than a lenient parser.

The expected answers were recorded from kube-apiserver 1.36.3.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from apiserver_gateway.testing import ApiServer, api_server
from gateway.access.authentication import with_authenticated
from gateway.http.escapes import text_of
from gateway.http.user import ANONYMOUS, User
from tests.hostile.wire import Reply, Wire
from tests.integration.server.client import ask

PAGE = b"404 page not found\n"
REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


def sent(server: ApiServer, head: bytes, body: bytes = b"") -> Reply:
    """The answer to a request with the administrator's token. The head is given without its last empty line."""
    token = f"\r\nAuthorization: Bearer {server.token}\r\nConnection: close\r\n\r\n".encode()
    with Wire(server) as wire:
        wire.send(head + token + body)
        return wire.reply()


@pytest.mark.parametrize(
    ("head", "status", "said"),
    [
        (b"GET /version HTTP/2.0\r\nHost: a", 505, b"505 HTTP Version Not Supported: unsupported protocol version"),
        (b"GET /version HTTP/0.9\r\nHost: a", 505, b"505 HTTP Version Not Supported: unsupported protocol version"),
        (b"GET /version HTTP/1.1\r\nHost: a\r\nHost: b", 400, b"400 Bad Request"),
        (b"GET /version HTTP/1.1\r\nHost: a\r\nHost: a", 400, b"400 Bad Request"),
        (b"GET /version HTTP/1.1\r\nX: y", 400, b"400 Bad Request: missing required Host header"),
        (b"GET /version HTTP/1.1\r\nHost: a b", 400, b"400 Bad Request: malformed Host header"),
        (b"POST /api/v1/namespaces HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked", 501, None),
        (b"GET /api HTTP/1.1 \r\nHost: a", 400, b"400 Bad Request"),
        (b"GET /api /x HTTP/1.1\r\nHost: a", 400, b"400 Bad Request"),
        (b"GET  /api HTTP/1.1\r\nHost: a", 400, b"400 Bad Request"),
        (b"GET /api  HTTP/1.1\r\nHost: a", 400, b"400 Bad Request"),
        (b"GET /version HTTP/1.1\r\nHost: a\r\nExpect: tea", 417, b""),
        (b"GET /version HTTP/1.0\r\nExpect: 100-continued", 417, b""),
        (b"POST /api/v1/namespaces HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\nExpect: tea", 417, b""),  # no body comes
        (b"POST /api/v1/namespaces HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nExpect: x", 417, b""),
    ],
)
def test_heads_that_are_refused(server: ApiServer, head: bytes, status: int, said: bytes | None) -> None:
    reply = sent(server, head)
    assert reply.status == status and (said is None or reply.body == said)


@pytest.mark.parametrize(
    "head",
    [
        b"GET /version HTTP/1.0\r\nX: y",
        b"GET /version HTTP/1.1\r\nHost: [::1]:6443",
        b"GET /version HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue",
        b"GET /version HTTP/1.1\r\nHost: a\r\nExpect: tea, 100-continue",
        b"GET /version HTTP/1.1\r\nHost: a\r\nExpect:",
        b"GET /version HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nExpect: tea",
    ],
)
def test_heads_that_are_taken(server: ApiServer, head: bytes) -> None:
    assert sent(server, head).status == 200


@pytest.mark.parametrize(
    "path", ["//api/v1", "//api/v1/pods", "//healthz", "/apis//v1", "/openapi/v2/", "/metrics/", "/healthz/"]
)
def test_paths_that_nobody_serves(server: ApiServer, path: str) -> None:
    reply = sent(server, f"GET {path} HTTP/1.1\r\nHost: evil.example".encode())
    assert (reply.status, reply.body) == (404, PAGE) and "location" not in reply.headers


def test_whoever_may_not_list_may_not_with_two_slashes(server: ApiServer) -> None:
    """Authorization checks what the parts of a path name, also if the path is written with extra slashes."""
    assert 'cannot list resource "pods"' in ask(server, "GET", "/apis//v1/pods", token=None).json["message"]
    assert ask(server, "GET", "/api/v1//pods", token=None).json["message"].startswith('forbidden: User "system:')
    answer = ask(server, "GET", "//api/v1/pods", token=None)
    assert answer.status == 403 and 'cannot list resource "pods" in API group ""' in answer.json["message"]


@pytest.mark.parametrize("path", ["/api//v1", "/api/v1//pods", "/apis/apps//v1/deployments", "/apis//v1/pods"])
def test_paths_with_empty_parts(server: ApiServer, path: str) -> None:
    assert ask(server, "GET", path).status == 404


def impersonated(server: ApiServer, value: bytes) -> str:
    head = f"POST {REVIEWS} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 2\r\n".encode()
    reply = sent(server, head + b"Impersonate-User: " + value, b"{}")
    assert reply.status == 201, reply.body
    name: str = json.loads(reply.body)["status"]["userInfo"]["username"]
    return name


def test_names_in_headers_are_without_space_around_them(server: ApiServer) -> None:
    assert impersonated(server, b" \t alice \t ") == "alice"


def test_names_that_are_no_utf8_stay_apart(server: ApiServer) -> None:
    values = (b"\xff\xfe", b"\xfe\xff", b"\xff", "\ufffd".encode(), b"\\xff", b"a\xe2\x28\xa1")
    assert len({impersonated(server, value) for value in values}) == len(values)
    assert len({text_of(bytes((first, second))) for first in range(128, 256) for second in range(128, 256)}) == 1 << 14


def test_who_is_named_anonymous_is_not_authenticated() -> None:
    assert with_authenticated(User(ANONYMOUS, ("a",))).groups == ("a",)
    assert with_authenticated(User("ada", ("a",))).groups == ("a", "system:authenticated")


def test_there_is_one_way_to_write_a_token(server: ApiServer) -> None:
    path = "/api/v1/namespaces/default/serviceaccounts/default/token"
    made = ask(server, "POST", path, {"spec": {}})
    token = made.json["status"]["token"]
    assert ask(server, "GET", "/version", token=token).status == 200
    for other in (f"{token}=", f"{token}==", token.replace(".", "=.", 1)):
        try:
            assert ask(server, "GET", "/version", token=other).status == 401
        except http.client.HTTPException:
            pytest.fail("no answer")


def modes(place: Path) -> Iterator[tuple[Path, int]]:
    """The file modes of a directory and of its contents, while other processes write there."""
    for path in (place, *place.rglob("*")):
        with contextlib.suppress(FileNotFoundError):  # the file has just been removed
            yield path, path.lstat().st_mode


def test_a_loose_umask_opens_nothing(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with api_server("--embedded-etcd", f"--data-dir={tmp_path / 'data'}", f"--cert-dir={tmp_path / 'certs'}"):
            loose = [path for path, mode in modes(tmp_path / "data") if mode & 0o077 and not stat.S_ISSOCK(mode)]
            writable = [path for path, mode in modes(tmp_path / "certs") if mode & 0o022]
    finally:
        os.umask(before)
    assert not loose and not writable
