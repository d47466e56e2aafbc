"""etcd hangs while a webhook is asked: nothing is stored that the webhook has not allowed, and a retry asks it
again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer, webhook
from storage.embedded import EmbeddedEtcd
from tests.forked import api_server
from tests.integration.server.client import Answer, ask
from tests.until import until

MAPS = "/api/v1/namespaces/default/configmaps"
LATE = "Timeout: request did not complete within the allotted timeout"  # kube-apiserver's message
Object = dict[str, Any]


@pytest.fixture(scope="module")
def etcd() -> Iterator[EmbeddedEtcd]:
    with EmbeddedEtcd() as running:
        yield running


@pytest.fixture(scope="module")
def server(etcd: EmbeddedEtcd) -> Iterator[ApiServer]:
    with api_server("--disable-admission-plugins=ServiceAccount", etcd_servers=etcd.endpoint) as running:
        yield running


def config_map(name: str, value: str = "") -> Object:
    return {"metadata": {"name": name}, "data": {"v": value}}


def back(etcd: EmbeddedEtcd, server: ApiServer) -> None:
    """Lets etcd continue, and waits until it answers."""
    etcd.resume()
    until(lambda: ask(server, "GET", MAPS).status == 200)


def is_late(answer: Answer) -> bool:
    return answer.status == 504 and answer.json["reason"] == "Timeout" and LATE in answer.json["message"]


@pytest.mark.parametrize("verdict", [None, "not this one"])
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_what_a_webhook_has_not_allowed_is_not_done(
    etcd: EmbeddedEtcd, server: ApiServer, method: str, verdict: str | None
) -> None:
    name = f"{method.lower()}-{'refused' if verdict else 'allowed'}"
    path = MAPS if method == "POST" else f"{MAPS}/{name}"
    if method != "POST":
        assert ask(server, "POST", MAPS, config_map(name, "old")).status == 201
    hangs = [True]

    def review(request: Object) -> str | None:
        if hangs[0]:
            etcd.pause()
        return verdict

    body = None if method == "DELETE" else config_map(name, "new")
    seconds = 20 if verdict is not None and method == "POST" else 1  # that refusal needs no etcd
    with webhook(server, review, "configmaps", operations=["*"], **here(name)) as hook:
        try:
            answer = ask(server, method, f"{path}?timeout={seconds}s", body)
        finally:
            hangs[0] = False
            back(etcd, server)
        asked = len(hook.requests)
        assert is_late(answer) if verdict is None or method != "POST" else answer.status == 403, answer.body
        found = ask(server, "GET", f"{MAPS}/{name}")
        again = ask(server, method, path, body)
        if verdict is not None:
            assert again.status == 403
            assert found.status == 404 if method == "POST" else found.json["data"]["v"] == "old"
            assert ask(server, "GET", f"{MAPS}/{name}").body == found.body
        assert len(hook.requests) > asked or again.status == 404  # the deletion was stored although it timed out


def here(name: str) -> Object:
    return {"matchConditions": [{"name": "one", "expression": f"request.name == '{name}'"}]}
