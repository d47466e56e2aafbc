"""Answers of a server that loads its objects; the load is held back until the test has sent its requests."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path
from types import MappingProxyType

import pytest

from storage.embedded import EmbeddedEtcd
from tests.held import Held
from tests.integration.server.client import Answer, ask
from tests.until import until

LOAD = "storage.load"
SETTINGS = "/api/v1/namespaces/default/configmaps"
PATIENT = {"gateway.requests.start_stages.LOAD_TIMEOUT": 60.0}  # who waits is not refused while the machine is busy


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Held]:
    """A server that has run before, and has an object."""
    with EmbeddedEtcd() as etcd:
        server = Held(tmp_path, etcd_servers=etcd.endpoint)
        server.start()
        try:
            assert ask(server, "POST", SETTINGS, {"metadata": {"name": "there"}}).status == 201
            server.stop()
            yield server
        finally:
            server.stop()


@contextmanager
def held(
    server: Held, module: str, prefix: bytes = b"", constants: Mapping[str, float] = MappingProxyType({})
) -> Iterator[None]:
    """The load of a module is held back inside the block. After it, the server is ready."""
    server.begin(module, prefix, constants)
    try:
        until(lambda: _listens(server))
        yield
    finally:
        server.finish()


def _listens(server: Held) -> bool:
    try:
        return ask(server, "GET", "/livez").status > 0
    except ConnectionRefusedError:
        return False


def refused(answer: Answer) -> bool:
    """Whether it is kube-apiserver's answer for a resource that is not loaded yet; clients repeat such requests."""
    assert (answer.status, answer.headers.get("retry-after")) == (429, "1"), answer.body
    status = answer.json
    return (status["reason"], status["message"], status["details"]) == (
        "TooManyRequests",
        "storage is (re)initializing",
        {"retryAfterSeconds": 1},
    )


def unknown(answer: Answer) -> bool:
    """Whether it is kube-apiserver's answer for a path that may exist soon."""
    assert (answer.status, answer.headers.get("retry-after")) == (503, "5"), answer.body
    text = "the request has been made before all known HTTP paths have been installed, please try again"
    return (answer.json["reason"], answer.json["message"]) == ("ServiceUnavailable", text)


def test_health_says_what_is_not_ready_and_nothing_else_is_answered(server: Held) -> None:
    with held(server, LOAD):
        for token in (None, ""):
            for path in ("/healthz", "/livez", "/readyz"):
                answer = ask(server, "GET", path, token=token)
                assert answer.status == 500 and b"[-]poststarthook/bootstrap-controller failed" in answer.body
                assert b"[+]etcd ok" in answer.body and "date" in answer.headers
            assert b"[-]informer-sync failed: reason withheld\n" in answer.body
        assert ask(server, "GET", "/readyz/etcd").body == b"ok"
        assert ask(server, "GET", "/version").json["major"] == "1"
        with ThreadPoolExecutor(8) as pool:
            asked = [
                pool.submit(ask, server, "GET", "/version", token=None),  # no role is known that would allow it
                pool.submit(ask, server, "GET", f"{SETTINGS}/there?resourceVersion=0"),
                pool.submit(ask, server, "GET", f"{SETTINGS}?resourceVersion=0"),
                pool.submit(ask, server, "GET", f"{SETTINGS}?watch=1&resourceVersion=0"),
                pool.submit(ask, server, "POST", SETTINGS, {"metadata": {"name": "new"}}),
            ]
            undefined = [pool.submit(ask, server, "GET", path) for path in ("/apis", "/apis/example.org/v1/things")]
            assert all(refused(each.result()) for each in asked)
            assert all(unknown(each.result()) for each in undefined)
        assert json.loads(ask(server, "GET", "/version", headers={"Accept": "*/*"}).body)
    assert ask(server, "GET", "/readyz", token=None).body == b"ok"
    assert ask(server, "GET", f"{SETTINGS}/there").status == 200
    assert ask(server, "GET", f"{SETTINGS}/new").status == 404


def test_who_waits_is_answered_once_all_is_there(server: Held) -> None:
    with ThreadPoolExecutor(2) as pool:
        with held(server, LOAD, constants=PATIENT):
            found = pool.submit(ask, server, "GET", f"{SETTINGS}/there")
            made = pool.submit(ask, server, "POST", SETTINGS, {"metadata": {"name": "new"}})
        assert (found.result().status, made.result().status) == (200, 201)


def test_a_start_may_be_stopped_while_somebody_waits(server: Held) -> None:
    server.begin(LOAD, constants=PATIENT)
    until(lambda: _listens(server))
    with ThreadPoolExecutor(2) as pool:
        waiting = pool.submit(ask, server, "GET", f"{SETTINGS}/there")
        assert ask(server, "GET", "/livez").status == 500
        assert pool.submit(server.stop).result() == 1
        assert isinstance(waiting.exception(), OSError | HTTPException), "it gets no wrong answer"
    assert "stopped while waiting for etcd" in server.log_file.read_text()
