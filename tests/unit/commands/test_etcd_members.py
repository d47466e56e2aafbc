"""If the server is not etcd, the message names it, with its answer and what to check."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from gateway.commands.etcd_members import Asking, Refusal


class _Other(BaseHTTPRequestHandler):
    """Answers 200 to everything, with the body of its server."""

    body = b""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


@pytest.fixture
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """Where a server is that answers the parameter."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Answers", (_Other,), {"body": request.param}))
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize(
    ("url", "found"),
    [
        (b"<html>", "its answer is not valid JSON: "),
        (b'{"members": 1}', "its answer has no list of members"),
        (b"[1]", "its answer has no list of members"),
    ],
    indirect=["url"],
)
def test_who_is_no_etcd_is_named(url: str, found: str) -> None:
    with pytest.raises(Refusal) as refusal:
        Asking(None, None, None).known(url)
    said = str(refusal.value)
    assert said.startswith(f"{url} does not answer like etcd: {found}")
    assert said.endswith("; check that this is the URL of an etcd member, not of a proxy")
