"""Admission webhooks whose answers are too large, too many or never end: writes fail, and no other request is
delayed.
"""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer, webhook
from apiserver_gateway.testing.webhooks import _certified
from tests.hostile.probe import held_at_most
from tests.integration.server.client import ask

MAPS = "/api/v1/namespaces/default/configmaps"
LIMIT = 0.1
PATIENCE = 60.0  # seconds until something that has no time limit of its own must have happened
ALONE: dict[str, Any] = {"objectSelector": {"matchLabels": {"asks": "hook"}}, "timeoutSeconds": 30}
Response = dict[str, Any]


def patch(operations: list[dict[str, Any]]) -> Response:
    return {"patchType": "JSONPatch", "patch": base64.b64encode(json.dumps(operations).encode()).decode()}


ADD = {"op": "add", "path": "/metadata/labels/a", "value": "b"}
ANSWERS: dict[str, tuple[Callable[[], Response], int]] = {
    "400 000 warnings": (lambda: {"warnings": ["w"] * 400_000}, 201),
    "a long warning": (lambda: {"warnings": ["ü" * (1 << 18)]}, 201),
    "a patch of 30 000 operations": (lambda: patch([ADD] * 30_000), 413),
    "a patch that doubles": (lambda: patch([{**ADD, "path": "/data"}, *copies()]), 500),
    "a deep patch": (lambda: {"patchType": "JSONPatch", "patch": base64.b64encode(b"[" * 100_000).decode()}, 500),
    "many annotations": (lambda: {"auditAnnotations": {f"k{i}": "v" for i in range(60_000)}}, 201),
}


def copies() -> list[dict[str, Any]]:
    return [{"op": "copy", "from": "/data", "path": f"/data/c{i}"} for i in range(40)]


@contextmanager
def answering(respond: Callable[[BaseHTTPRequestHandler, dict[str, Any]], None]) -> Iterator[dict[str, str]]:
    context, authority = _certified()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            with suppress(OSError):
                respond(self, json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def log_message(self, format: str, *args: Any) -> None:
            """Logs nothing."""

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listening.daemon_threads = True
    listening.socket = context.wrap_socket(listening.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    try:
        yield {"url": f"https://127.0.0.1:{listening.server_port}/", "caBundle": base64.b64encode(authority).decode()}
    finally:
        listening.shutdown()
        listening.server_close()


def create(server: ApiServer) -> Any:
    return ask(
        server, "POST", f"{MAPS}?dryRun=All", {"metadata": {"name": "a", "labels": {"asks": "hook"}}, "data": {}}
    )


@pytest.mark.parametrize("answer", ANSWERS)
def test_large_answers_hold_nobody(server: ApiServer, answer: str) -> None:
    make, status = ANSWERS[answer]
    response = make()

    def respond(handler: BaseHTTPRequestHandler, review: dict[str, Any]) -> None:
        content = json.dumps(
            {**review, "response": {"uid": review["request"]["uid"], "allowed": True, **response}}, ensure_ascii=False
        )
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(content.encode())))
        handler.end_headers()
        handler.wfile.write(content.encode())

    with (
        answering(respond) as client,
        webhook(server, lambda request: None, "configmaps", mutating=True, clientConfig=client, **ALONE),
        held_at_most(server, LIMIT),
    ):
        assert create(server).status == status


def test_an_answer_without_end_is_cut(server: ApiServer) -> None:
    def respond(handler: BaseHTTPRequestHandler, review: dict[str, Any]) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(1 << 40))
        handler.end_headers()
        while True:
            handler.wfile.write(b" " * 65536)

    with (
        answering(respond) as client,
        webhook(server, lambda request: None, "configmaps", clientConfig=client, **ALONE),
        held_at_most(server, LIMIT),
    ):
        refused = create(server)
    assert refused.status == 500 and "the answer is larger than 3145728 bytes" in refused.json["message"]


def test_a_webhook_that_is_deleted_while_it_is_asked_still_decides(server: ApiServer) -> None:
    asked, going = threading.Event(), threading.Event()

    def respond(handler: BaseHTTPRequestHandler, review: dict[str, Any]) -> None:
        asked.set()
        going.wait(PATIENCE)
        verdict = {"uid": review["request"]["uid"], "allowed": False, "status": {"message": "late"}}
        content = json.dumps({**review, "response": verdict}).encode()
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)

    found: list[Any] = []
    with answering(respond) as client:
        with webhook(server, lambda request: None, "configmaps", clientConfig=client, **ALONE):
            thread = threading.Thread(target=lambda: found.append(create(server)))
            thread.start()
            assert asked.wait(PATIENCE)
        assert create(server).status == 201  # the webhook does not apply to new requests any more
        going.set()
        thread.join(PATIENCE)
    assert found[0].status == 400 and "denied the request: late" in found[0].json["message"]
