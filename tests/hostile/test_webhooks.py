"""Conversion webhooks that are silent, slow, endless or invalid: the client gets an error, and others are not
affected.
"""

from __future__ import annotations

import contextlib
import ssl
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer
from tests.hostile.hook import Hook, serving
from tests.hostile.probe import held_at_most, memory_returns
from tests.hostile.wire import Wire
from tests.integration.customresources.definitions import definition, establish, version
from tests.integration.server.client import ask

GROUP = "hostile.example.com"
THINGS = f"/apis/{GROUP}/v2/namespaces/default/widgets"
ANY = {"x-kubernetes-preserve-unknown-fields": True}
LIMIT = 0.1
CROWD = 40


@pytest.fixture(scope="module")
def hook(module_server: ApiServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hook]:
    """A webhook, and a CRD whose objects it converts."""
    with serving(Path(tmp_path_factory.mktemp("hook"))) as made:
        client = {"url": f"https://localhost:{made.port}/convert", "caBundle": made.ca_bundle}
        versions = [version("v1", {"spec": ANY}), {**version("v2", {"spec": ANY}), "storage": False}]
        conversion = {
            "strategy": "Webhook",
            "webhook": {"clientConfig": client, "conversionReviewVersions": ["v1"]},
        }
        establish(module_server, definition(GROUP, *versions, conversion=conversion))
        yield made


def create(server: ApiServer) -> Any:
    body = {"apiVersion": f"{GROUP}/v2", "kind": "Widget", "metadata": {"name": "a"}, "spec": {}}
    return ask(server, "POST", THINGS, body)


def endless(piece: bytes, start: bytes = b"HTTP/1.1 200 OK\r\n") -> Callable[[ssl.SSLSocket], None]:
    def answer(connection: ssl.SSLSocket) -> None:
        connection.sendall(start)
        while True:
            connection.sendall(piece * 4096)

    return answer


def once(answer: bytes) -> Callable[[ssl.SSLSocket], None]:
    return lambda connection: connection.sendall(answer)


OK = b"HTTP/1.1 200 OK\r\n"
ANSWERS = {
    "nothing": lambda _: None,
    "no HTTP": once(b"\x00\xff nonsense\r\n\r\n"),
    "another version": once(b"HTTP/9.9 200 OK\r\n\r\n{}"),
    "no status": once(b"HTTP/1.1 abc\r\n\r\n"),
    "half a head": once(OK + b"Content-Le"),
    "half a body": once(OK + b"Content-Length: 100\r\n\r\n{"),
    "broken chunks": once(OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}"),
    "an upgrade": once(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n{}"),
    "provisional answers alone": once(b"HTTP/1.1 100 Continue\r\n\r\n" * 100),
    "a redirect": once(b"HTTP/1.1 302 Found\r\nLocation: https://127.0.0.1/\r\nContent-Length: 0\r\n\r\n"),
    "an endless head": endless(b"a: b\r\n"),
    "an endless body": endless(b"\r\n", OK + b"\r\n"),
    "a deep answer": once(OK + b"\r\n" + b"[" * 100_000),
    "null": once(OK + b"\r\nnull"),
    "a wrong answer": once(OK + b'\r\n{"kind":[],"apiVersion":7,"response":[]}'),
    "wrong members": once(OK + b'\r\n{"kind":"ConversionReview","response":{"uid":{},"convertedObjects":{"a":1}}}'),
}


@pytest.mark.parametrize("answer", ANSWERS)
def test_nonsense_is_an_error_of_the_webhooks(server: ApiServer, hook: Hook, answer: str) -> None:
    hook.answer = ANSWERS[answer]
    with held_at_most(server, LIMIT), memory_returns(server):
        refused = create(server)
    assert refused.status == 500, refused.body
    assert f"conversion webhook for {GROUP}/v2, Kind=Widget failed" in refused.json["message"]


def test_webhooks_that_say_nothing_hold_nobody(server: ApiServer, hook: Hook) -> None:
    """Many requests wait for a silent webhook; work beside the event loop, such as large bodies, is still done."""
    told = threading.Event()
    hook.answer = lambda _: bool(told.wait(60)) and None  # type: ignore[func-returns-value]  # a callback
    while hook.asked.acquire(blocking=False):
        pass
    body = f'{{"apiVersion":"{GROUP}/v2","kind":"Widget","metadata":{{"name":"a"}},"spec":{{}}}}'.encode()
    header = f"Content-Length: {len(body)}"
    big = {"metadata": {"name": "big"}, "data": {f"key-{number}": "value" * 10 for number in range(12_000)}}
    with contextlib.ExitStack() as stack:
        stack.callback(told.set)  # also after a failure: else the webhooks' threads do not end with the server
        with held_at_most(server, LIMIT):
            for _ in range(CROWD):
                wire = stack.enter_context(Wire(server))
                wire.request(f"POST {THINGS}", "Content-Type: application/json", header, body=body)
            assert all(hook.asked.acquire(timeout=60) for _ in range(CROWD))
            with ThreadPoolExecutor(4) as pool:
                path = "/api/v1/namespaces/default/configmaps?dryRun=All"
                answers = list(pool.map(lambda _: ask(server, "POST", path, big).status, range(4)))
        assert answers == [201] * 4
        told.set()
        assert wire.reply().status == 500
