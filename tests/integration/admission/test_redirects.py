"""Redirects of webhooks: those to the same server are followed, like Go's servers' for a path such as //x. Objects are
never sent to another server.
"""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer, Refused, ask, webhook
from apiserver_gateway.testing.webhooks import _certified
from tests.forked import api_server


@pytest.fixture(scope="module")
def server() -> Iterator[ApiServer]:
    with api_server() as api:
        yield api


@contextmanager
def redirecting(status: int, location: str) -> Iterator[tuple[dict[str, str], list[str]]]:
    """A webhook that redirects all paths but /there, where it refuses. Yields its client configuration, and the
    requested paths.
    """
    context, authority = _certified()
    asked = list[str]()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append(self.path)
            here = self.path.startswith("/there")
            self.send_response(200 if here else status)
            response = {"uid": review["request"]["uid"], "allowed": False, "status": {"message": "redirected"}}
            content = json.dumps({**review, "response": response}).encode() if here else b""
            if not here:
                self.send_header("Location", location)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def do_GET(self) -> None:
            asked.append(f"GET {self.path}")
            self.send_error(404)

        def log_message(self, format: str, *args: Any) -> None:
            """Logs nothing."""

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listening.daemon_threads = True
    listening.socket = context.wrap_socket(listening.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    url = f"https://127.0.0.1:{listening.server_port}/from"
    try:
        yield {"url": url, "caBundle": base64.b64encode(authority).decode()}, asked
    finally:
        listening.shutdown()
        listening.server_close()


def refusal(server: ApiServer, client: dict[str, str]) -> str:
    alone = {"matchConditions": [{"name": "alone", "expression": "request.name == 'a'"}]}  # not those of controllers
    with (
        webhook(server, lambda request: None, "configmaps", clientConfig=client, **alone),
        pytest.raises(Refused) as refused,
    ):
        ask(server, "POST", "/api/v1/namespaces/default/configmaps?dryRun=All", {"metadata": {"name": "a"}})
    return str(refused.value)


@pytest.mark.parametrize("status", [307, 308])
def test_redirects_on_the_same_server_are_followed_with_the_object(server: ApiServer, status: int) -> None:
    with redirecting(status, "/there?timeout=10s") as (client, asked):
        assert "denied the request: redirected" in refusal(server, client)
    assert asked == ["/from?timeout=10s", "/there?timeout=10s"]


@pytest.mark.parametrize("status", [301, 302, 303])
def test_those_that_keep_no_body_become_a_get(server: ApiServer, status: int) -> None:
    with redirecting(status, "/there") as (client, asked):
        assert "the server could not find the requested resource" in refusal(server, client)
    assert asked == ["/from?timeout=10s", "GET /there"]


@pytest.mark.parametrize(
    ("status", "location", "said"),
    [
        (302, "https://localhost:1/there", "the server responded with the status code 302"),
        (307, "https://localhost:1/there", "the server responded with the status code 307"),
        (307, "http://[", "the server responded with the status code 307"),
        (307, "/from", "stopped after 10 redirects"),
    ],
)
def test_no_other_redirects_are(server: ApiServer, status: int, location: str, said: str) -> None:
    with redirecting(status, location) as (client, asked):
        assert said in refusal(server, client)
    assert len(asked) == (10 if said.startswith("stopped") else 1)
