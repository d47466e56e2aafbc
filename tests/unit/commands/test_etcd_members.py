"""If the server is not etcd, the message names it, with its answer and what to check."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from gateway.commands import etcd_join
from gateway.commands.etcd_join import EXISTING, Joining
from gateway.commands.etcd_members import MemberClient, MemberRefusal, Silent
from gateway.jsontypes import dumps, loads


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
        (b'[{"id": 1, "peerURLs": []}]', "a member has no peer URL"),
    ],
    indirect=["url"],
)
def test_who_is_no_etcd_is_named(url: str, found: str) -> None:
    with pytest.raises(MemberRefusal) as refusal:
        MemberClient(None, None, None).known(url)
    said = str(refusal.value)
    assert said.startswith(f"{url} does not answer like etcd: {found}")
    assert said.endswith("; check that this is the URL of an etcd member, not of a proxy")


@pytest.mark.parametrize(
    "url", ["http://[", "http://a:99999", "http://a:b", "ftp://a", "http://", f"http://{'a' * 70}:1"]
)
def test_what_is_no_url_does_not_answer(url: str) -> None:
    asking = MemberClient(None, None, None)
    with pytest.raises(Silent, match=r"is not a URL with http|does not answer"):
        asking.known(url)
    assert not asking.is_healthy(url)


class _Cluster(_Other):
    """One member of a cluster. At first it refuses to add another one, as etcd refuses an invalid URL."""

    members: list[dict[str, object]]
    added: list[str]

    def do_GET(self) -> None:
        self._say(200, {"health": "true"} if self.path == "/health" else self.members)

    def do_POST(self) -> None:
        asked = loads(self.rfile.read(int(self.headers["Content-Length"])))
        listed = [{"ID": each["id"], **each} for each in self.members]
        if not self.path.endswith("/add"):
            return self._say(200, {"members": listed})
        self.added += asked["peerURLs"]
        if len(self.added) == 1:
            return self._say(400, {"message": "URL scheme must be http, https, unix, or unixs"})
        self._say(200, {"members": [*listed, {"ID": 2, "peerURLs": asked["peerURLs"]}]})

    def _say(self, status: int, value: object) -> None:
        body = dumps(value)
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def test_a_member_whose_url_etcd_refuses_waits_and_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(etcd_join, "PAUSE", 0.01)
    members, added = list[dict[str, object]](), list[str]()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Answers", (_Cluster,), {"members": members, "added": added}))
    with server:
        Thread(target=server.serve_forever).start()
        url, odd = f"http://127.0.0.1:{server.server_port}", 'http://b"\\:2380'
        members.append({"id": 1, "name": "a", "peerURLs": [url], "clientURLs": [url]})
        told: list[str] = []
        joining = Joining("b", {"a": url, "b": odd}, tmp_path, MemberClient(None, None, None))
        assert joining.decide(60.0, told.append) == (EXISTING, {"a": url, "b": odd})
        server.shutdown()
    assert added == [odd, odd]
    assert (
        len(told) == 1
        and told[0].startswith("b is waiting to join the etcd cluster: ")
        and "URL scheme must be" in told[0]
    )
