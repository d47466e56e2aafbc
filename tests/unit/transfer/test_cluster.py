"""Answers of a cluster are read whole, or the command fails: it takes no answer for an empty one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gateway.jsontypes import MOST_AT_ONCE, dumps, members
from gateway.outbound.client import Client, Reply
from gateway.outbound.request import OutboundRequest
from gateway.schema.outside import MOST_MEMBERS
from gateway.transfer.cluster import ApiError, RemoteCluster, Unreachable
from gateway.transfer.export import PAGE, _pages
from gateway.transfer.kubeconfig import find_place

POD = {
    "metadata": {"name": "p", "labels": {f"l{number}": "" for number in range(200)}},
    "spec": {"containers": [{"name": "c", "env": [{"name": "n", "value": ""}] * 400}]},
}


@pytest.fixture
def cluster(tmp_path: Path) -> RemoteCluster:
    (path := tmp_path / "config").write_text(
        json.dumps(
            {
                "current-context": "c",
                "clusters": [{"name": "c", "cluster": {"server": "http://a:1"}}],
                "users": [{"name": "c", "user": {}}],
                "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
            }
        )
    )
    return RemoteCluster(find_place(path, "", {}))


def answer(monkeypatch: pytest.MonkeyPatch, *answers: Reply) -> None:
    left = list(answers)

    async def call(self: Client, target: object, asked: OutboundRequest, timeout: float, largest: int) -> Reply:
        return left.pop(0)

    monkeypatch.setattr(Client, "call", call)


async def test_a_page_may_have_any_number_of_members(cluster: RemoteCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what others send, less is read on the event loop, and in a thread."""
    first = dumps({"metadata": {"continue": "next"}, "items": [POD] * PAGE})
    assert members(first) > MOST_MEMBERS > MOST_AT_ONCE and len(first) < 16 << 20
    second = dumps({"metadata": {}, "items": [{**POD, "data": {"a": "x" * (1 << 20)}}] * 20})
    assert len(second) > 16 << 20
    answer(monkeypatch, Reply(200, body=first), Reply(200, body=second))
    found = [len(page["items"]) async for page in _pages(cluster, "/api/v1/pods")]
    assert found == [PAGE, 20]


@pytest.mark.parametrize("body", [b"", b"<html>", b"[1]", b"null", b'{"items":' + b"[" * 600 + b"]" * 600 + b"}"])
async def test_what_is_no_object_is_no_success(
    cluster: RemoteCluster, monkeypatch: pytest.MonkeyPatch, body: bytes
) -> None:
    answer(monkeypatch, Reply(200, body=body), Reply(400, body=body))
    with pytest.raises(Unreachable, match=r"http://a:1/: the answer is not a JSON object: "):
        await cluster.ask("GET", "/api")
    with pytest.raises(ApiError, match=r"^400: "):
        await cluster.ask("GET", "/api")
